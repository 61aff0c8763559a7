# edgecond as a command, for CPUs:
#
#     docker build -t edgecond --build-arg TORCH_INDEX=ADDRESS .
#     docker run --rm -v "$PWD:/work" -u "$(id -u):$(id -g)" edgecond train scans/
#
# ADDRESS is the index of torch's builds for CPUs, which pytorch.org names under "Get started". Without it, the image works too,
# but the default build of torch has several gigabytes of libraries for GPUs.

FROM python:3.11-slim AS wheel
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /project
COPY . .
RUN EDGECOND_NATIVE=1 pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
ARG TORCH_INDEX
COPY constraints.txt /tmp/
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY --from=wheel /wheels /tmp/wheels
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt "$(echo /tmp/wheels/*.whl)[clouds,molecules,report,plot,tune,export]"

# HOME is for caches, and may be written by any user that `docker run -u` names.
RUN useradd --create-home edgecond && chmod 1777 /home/edgecond && mkdir /work && chown edgecond /work
ENV HOME=/home/edgecond EDGECOND_DATA=/work/data
USER edgecond
WORKDIR /work
ENTRYPOINT ["edgecond"]
CMD ["--help"]
