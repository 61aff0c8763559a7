r"""The programs that run on a GPU: sums over the edges of rows, and what adds up the pieces of long rows.

A row $r$ of the sums in `interface` is cut at every edge whose number is a multiple of `CUT`. Its first piece has the
number $r$; what follows the cut before edge $t \cdot$ `CUT` is piece $n + t - 1$. Every program owns `ROWS` consecutive
pieces, of which it reads `B` edges at a time, and alone writes their sums: nothing is added atomically, so that a rerun
gives the same bits.

Names in capitals are known at compile time. `WIDTH`, `H`, `K` and `J` are the widths of labels (or of given
activations), of the first of two hidden layers of $F$, of the activations $a$ and of the signal $y$; `SP`, `HP`, `KP`
and `JP` are the tiles that they are read in, padded with zeros. Sums are taken in single precision, and `P` is the
precision of products. Rows and edges are multiplied by widths as 64-bit numbers.
"""

import triton
import triton.language as tl

SIZES = ("begin", "end", "n")  # one compiled kernel serves graphs of all sizes


@triton.jit
def edges_of(p, n, pointer, owner, CUT: tl.constexpr):
    """Return the first edge of a piece, and the edge after its last; `owner` holds the rows of pieces n, n + 1, ..."""
    if p < n:
        low = tl.load(pointer + p)
        high = tl.minimum(tl.load(pointer + p + 1), (low // CUT + 1) * CUT)
    else:
        row = tl.load(owner + (p - n))
        low = (p - n + 1) * CUT
        high = tl.minimum(tl.load(pointer + row + 1), low + CUT)
        high = tl.where(tl.load(pointer + row) < low, high, low)  # a row that begins here has it in its first piece
    return low, high


@triton.jit
def layer(weight, bias, I: tl.constexpr, O: tl.constexpr, IP: tl.constexpr, OP: tl.constexpr):
    """Return the weight of a hidden layer, (outputs, inputs), and its bias."""
    i, o = tl.arange(0, IP), tl.arange(0, OP)
    inside = (o < O)[:, None] & (i < I)[None, :]
    loaded = tl.load(weight + o[:, None] * I + i[None, :], mask=inside, other=0.0)
    return loaded, tl.load(bias + o, mask=o < O, other=0.0).to(tl.float32)


@triton.jit
def activate(inputs, weight, bias, ok, P: tl.constexpr):
    """Return the activations of a hidden layer, zero for edges that are not there; a NaN passes, as in torch."""
    linear = tl.dot(weight, inputs, input_precision=P) + bias[:, None]
    return tl.where((linear <= 0.0) | (ok[None, :] == 0), 0.0, linear).to(inputs.dtype)


@triton.jit
def layers_of(
    w1, b1, w2, b2, WIDTH: tl.constexpr, H: tl.constexpr, K: tl.constexpr,
    SP: tl.constexpr, HP: tl.constexpr, KP: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Return the weights and biases of the hidden layers, of which there are `DEPTH`."""
    u1, v1, u2, v2 = 0, 0, 0, 0
    if DEPTH > 0:
        u1, v1 = layer(w1, b1, WIDTH, H, SP, HP)
    if DEPTH > 1:
        u2, v2 = layer(w2, b2, H, K, HP, KP)
    return u1, v1, u2, v2


@triton.jit
def columns_of(values, e, ok, i, WIDTH: tl.constexpr):
    """Return elements `i` of the rows `e`, one column per row."""
    return tl.load(values + e[None, :] * WIDTH + i[:, None], mask=ok[None, :] & (i < WIDTH)[:, None], other=0.0)


@triton.jit
def activations_of(
    e, ok, hidden, skip, u1, v1, u2, v2, WIDTH: tl.constexpr, K: tl.constexpr, SP: tl.constexpr, KP: tl.constexpr,
    DEPTH: tl.constexpr, INDEX: tl.constexpr, TYPE: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    r"""Return $a_e$, (c, e): computed from labels, or one-hot, or given; the tile of it that begins at `skip`."""
    c = skip + tl.arange(0, KP)
    if DEPTH > 0:
        a = activate(columns_of(hidden, e, ok, tl.arange(0, SP), WIDTH), u1, v1, ok, P)
        if DEPTH > 1:
            a = activate(a, u2, v2, ok, P)
    elif INDEX:
        a = (tl.load(hidden + e, mask=ok, other=-1)[None, :] == tl.where(c < K, c, -2)[:, None]).to(tl.float32).to(TYPE)
    else:
        a = columns_of(hidden, e, ok, c, K)
    return a


@triton.jit
def times(a, scale, i, ok):
    r"""Return $s_e a_e$."""
    return (a.to(tl.float32) * tl.load(scale + i, mask=ok, other=0.0).to(tl.float32)[None, :]).to(a.dtype)


@triton.jit
def products_of(row, c, j, K: tl.constexpr, J: tl.constexpr):
    r"""Return the tile of $G_p$ for channels and columns."""
    return tl.load(row + c[:, None] * J + j[None, :], mask=(c < K)[:, None] & (j < J)[None, :], other=0.0)


@triton.jit(do_not_specialize=SIZES)
def blend(
    pointer, owner, column, edge, hidden, scale, w1, b1, w2, b2, y, out, begin, end, n,
    WIDTH: tl.constexpr, H: tl.constexpr, K: tl.constexpr, J: tl.constexpr,
    SP: tl.constexpr, HP: tl.constexpr, KP: tl.constexpr, JP: tl.constexpr,
    DEPTH: tl.constexpr, INDEX: tl.constexpr, SCALED: tl.constexpr, EDGE: tl.constexpr, BIAS: tl.constexpr,
    CUT: tl.constexpr, ROWS: tl.constexpr, B: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    r"""Write $A_p = \sum_e a_e \otimes y_e$ for the pieces from `begin` up to `end`: `out` is (pieces, c, j).

    With `SCALED`, there are twice as many channels, the others with $s_e a_e$.
    """
    TYPE: tl.constexpr = y.dtype.element_ty
    skip = tl.program_id(1) * KP
    c = skip + tl.arange(0, KP)
    j = tl.program_id(2) * JP + tl.arange(0, JP)
    u1, v1, u2, v2 = layers_of(w1, b1, w2, b2, WIDTH, H, K, SP, HP, KP, DEPTH)
    first = begin + tl.program_id(0).to(tl.int64) * ROWS
    for p in range(first, tl.minimum(first + ROWS, end)):
        low, high = edges_of(p, n, pointer, owner, CUT)
        sums = tl.zeros((KP, JP), tl.float32)
        scaled = tl.zeros((KP, JP), tl.float32)
        total = tl.zeros((JP,), tl.float32)
        for position in range(low, high, B):
            i = position + tl.arange(0, B)
            ok = i < high
            e = i
            if EDGE:
                e = tl.load(edge + i, mask=ok, other=0)
            a = activations_of(e, ok, hidden, skip, u1, v1, u2, v2, WIDTH, K, SP, KP, DEPTH, INDEX, TYPE, P)
            source = tl.load(column + i, mask=ok, other=0)
            signal = tl.load(y + source[:, None] * J + j[None, :], mask=ok[:, None] & (j < J)[None, :], other=0.0)
            sums += tl.dot(a, signal, input_precision=P)
            if SCALED:
                scaled += tl.dot(times(a, scale, i, ok), signal, input_precision=P)
            if BIAS:
                total += tl.sum(signal.to(tl.float32), 0)
        place = out + (p - begin) * ((K * (1 + SCALED) + BIAS) * J)
        inside = (c < K)[:, None] & (j < J)[None, :]
        tl.store(place + c[:, None] * J + j[None, :], sums, mask=inside)
        if SCALED:
            tl.store(place + (K + c)[:, None] * J + j[None, :], scaled, mask=inside)
        if BIAS:  # noqa: SIM102 - only this condition is known at compile time
            if tl.program_id(1) == 0:
                tl.store(place + K * J + j, total, mask=j < J)


@triton.jit(do_not_specialize=SIZES)
def send(
    pointer, owner, edge, hidden, scale, w1, b1, w2, b2, products, out, begin, end, n,
    WIDTH: tl.constexpr, H: tl.constexpr, K: tl.constexpr, J: tl.constexpr,
    SP: tl.constexpr, HP: tl.constexpr, KP: tl.constexpr, JP: tl.constexpr,
    DEPTH: tl.constexpr, INDEX: tl.constexpr, SCALED: tl.constexpr, EDGE: tl.constexpr, BIAS: tl.constexpr,
    CUT: tl.constexpr, ROWS: tl.constexpr, B: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    r"""Write the message $\sum_c a_{ec} G_{pc}$ of every edge of the pieces, in the order of the rows.

    $G_{pc} = W_c^\top z_p$ are the `products`, (pieces, c, j). Activations that are computed fit one tile, and their
    products are read once per piece. With `SCALED`, there are twice as many channels, the others for $s_e a_e$.
    """
    TYPE: tl.constexpr = products.dtype.element_ty
    c = tl.arange(0, KP)
    j = tl.program_id(1) * JP + tl.arange(0, JP)
    u1, v1, u2, v2 = layers_of(w1, b1, w2, b2, WIDTH, H, K, SP, HP, KP, DEPTH)
    first = begin + tl.program_id(0).to(tl.int64) * ROWS
    for p in range(first, tl.minimum(first + ROWS, end)):
        low, high = edges_of(p, n, pointer, owner, CUT)
        row = products + (p - begin) * ((K * (1 + SCALED) + BIAS) * J)
        constant = tl.zeros((JP,), tl.float32)
        if BIAS:
            constant = tl.load(row + K * J + j, mask=j < J, other=0.0).to(tl.float32)
        G = tl.zeros((KP, JP), TYPE)
        if DEPTH > 0:
            G = products_of(row, c, j, K, J)
        for position in range(low, high, B):
            i = position + tl.arange(0, B)
            ok = i < high
            e = i
            if EDGE:
                e = tl.load(edge + i, mask=ok, other=0)
            message = tl.zeros((JP, B), tl.float32) + constant[:, None]
            for skip in range(0, K, KP):
                a = activations_of(e, ok, hidden, skip, u1, v1, u2, v2, WIDTH, K, SP, KP, DEPTH, INDEX, TYPE, P)
                if DEPTH == 0:
                    G = products_of(row, skip + c, j, K, J)
                message += tl.dot(tl.trans(G), a, input_precision=P)
                if SCALED:
                    scaled = products_of(row + K * J, skip + c, j, K, J)
                    message += tl.dot(tl.trans(scaled), times(a, scale, i, ok), input_precision=P)
            tl.store(out + i[None, :] * J + j[:, None], message, mask=ok[None, :] & (j < J)[:, None])


@triton.jit(do_not_specialize=SIZES)
def differentiate(
    pointer, owner, column, edge, hidden, w1, b1, w2, b2, y, products, for_hidden, for_w1, for_b1, for_w2, for_b2,
    begin, end, n,
    WIDTH: tl.constexpr, H: tl.constexpr, K: tl.constexpr, J: tl.constexpr,
    SP: tl.constexpr, HP: tl.constexpr, KP: tl.constexpr, JP: tl.constexpr,
    DEPTH: tl.constexpr, EDGE: tl.constexpr, BIAS: tl.constexpr, LAYERS: tl.constexpr,
    CUT: tl.constexpr, ROWS: tl.constexpr, B: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    r"""Take the gradients $G_{pc}\, y_e$ of the activations through the hidden layers of $F$ to the labels.

    With `LAYERS`, write the sums for the layers over the edges of a program, which are added later. Without, write to
    `for_hidden` the gradient of each label, or of the activations of each edge where there is no layer.

    The derivative of a layer at given labels is linear: what the columns of the signal contribute is added afterwards,
    and a program reads the products of `JP` of them once per piece. `for_hidden` is (parts of the signal, m, s).
    """
    part, parts = tl.program_id(1), tl.num_programs(1)
    c = tl.arange(0, KP)
    j = tl.arange(0, JP)
    if DEPTH > 0:
        j += part * JP
    else:
        c += part * KP
    s = tl.arange(0, SP)
    o = tl.arange(0, HP)
    u1, v1, u2, v2 = layers_of(w1, b1, w2, b2, WIDTH, H, K, SP, HP, KP, DEPTH)
    sum_w1 = tl.zeros((HP, SP), tl.float32)
    sum_b1 = tl.zeros((HP,), tl.float32)
    sum_w2 = tl.zeros((KP, HP), tl.float32)
    sum_b2 = tl.zeros((KP,), tl.float32)
    m = tl.load(pointer + n)
    first = begin + tl.program_id(0).to(tl.int64) * ROWS
    for p in range(first, tl.minimum(first + ROWS, end)):
        low, high = edges_of(p, n, pointer, owner, CUT)
        row = products + (p - begin) * ((K + BIAS) * J)
        G = products_of(row, c, j, K, J)
        for position in tl.range(low, high, B, disable_licm=True):  # what is moved out of the loop takes registers
            i = position + tl.arange(0, B)
            ok = i < high
            e = i
            if EDGE:
                e = tl.load(edge + i, mask=ok, other=0)
            source = tl.load(column + i, mask=ok, other=0)
            gradient = tl.dot(G, columns_of(y, source, ok, j, J), input_precision=P)
            if DEPTH == 0:
                for start in range(JP, J, JP):
                    more = products_of(row, c, start + j, K, J)
                    gradient += tl.dot(more, columns_of(y, source, ok, start + j, J), input_precision=P)
                tl.store(for_hidden + e[None, :] * K + c[:, None], gradient, mask=ok[None, :] & (c < K)[:, None])
            else:
                labels = columns_of(hidden, e, ok, s, WIDTH)
                a = activate(labels, u1, v1, ok, P)
                if DEPTH > 1:
                    gradient = tl.where(activate(a, u2, v2, ok, P) <= 0.0, 0.0, gradient)
                    narrow = gradient.to(a.dtype)
                    if LAYERS:
                        sum_w2 += tl.dot(narrow, tl.trans(a), input_precision=P)
                        sum_b2 += tl.sum(gradient, 1)
                    gradient = tl.dot(tl.trans(u2), narrow, input_precision=P)
                gradient = tl.where(a <= 0.0, 0.0, gradient)
                narrow = gradient.to(a.dtype)
                if LAYERS:
                    sum_w1 += tl.dot(narrow, tl.trans(labels), input_precision=P)
                    sum_b1 += tl.sum(gradient, 1)
                else:
                    place = for_hidden + (part * m + e)[None, :] * WIDTH + s[:, None]
                    back = tl.dot(tl.trans(u1), narrow, input_precision=P)
                    tl.store(place, back, mask=ok[None, :] & (s < WIDTH)[:, None])
    q = first // ROWS * parts + part  # counted over all launches
    if LAYERS:
        inside = (o < H)[:, None] & (s < WIDTH)[None, :]
        tl.store(for_w1 + q * (H * WIDTH) + o[:, None] * WIDTH + s[None, :], sum_w1, mask=inside)
        tl.store(for_b1 + q * H + o, sum_b1, mask=o < H)
    if LAYERS and DEPTH > 1:
        inside = (c < K)[:, None] & (o < H)[None, :]
        tl.store(for_w2 + q * (K * H) + c[:, None] * H + o[None, :], sum_w2, mask=inside)
        tl.store(for_b2 + q * K + c, sum_b2, mask=c < K)


@triton.jit(do_not_specialize=SIZES)
def collect(
    pointer, owner, order, values, out, end, n,
    J: tl.constexpr, JP: tl.constexpr, CUT: tl.constexpr, ROWS: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Write the sum of the rows of `values` that each piece lists in `order`: `out` is (pieces, j)."""
    j = tl.program_id(1) * JP + tl.arange(0, JP)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for p in range(first, tl.minimum(first + ROWS, end)):
        low, high = edges_of(p, n, pointer, owner, CUT)
        total = tl.zeros((JP,), tl.float32)
        for position in range(low, high, B):
            i = position + tl.arange(0, B)
            e = tl.load(order + i, mask=i < high, other=0)
            here = (i < high)[:, None] & (j < J)[None, :]
            total += tl.sum(tl.load(values + e[:, None] * J + j[None, :], mask=here, other=0.0).to(tl.float32), 0)
        tl.store(out + p * J + j, total, mask=j < J)


@triton.jit(do_not_specialize=SIZES)
def join(pointer, out, n, J: tl.constexpr, JP: tl.constexpr, CUT: tl.constexpr, ROWS: tl.constexpr, B: tl.constexpr):
    """Add to the first piece of every row the others, in their order: `out` is (pieces, j)."""
    j = tl.program_id(1) * JP + tl.arange(0, JP)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for row in range(first, tl.minimum(first + ROWS, n)):
        low, high = tl.load(pointer + row), tl.load(pointer + row + 1)
        cut, last = low // CUT, (high - 1) // CUT
        if (low < high) & (cut < last):
            place = out + row * J + j
            total = tl.load(place, mask=j < J, other=0.0).to(tl.float32)
            for position in range(cut, last, B):
                q = position + tl.arange(0, B)
                here = (q < last)[:, None] & (j < J)[None, :]
                total += tl.sum(
                    tl.load(out + (n + q)[:, None] * J + j[None, :], mask=here, other=0.0).to(tl.float32), 0
                )
            tl.store(place, total, mask=j < J)
