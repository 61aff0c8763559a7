"""Text in a page is escaped: nothing in it is read as HTML."""

from edgecond.report.figures import Panel
from edgecond.report.page import cards, facts, figures, section, table
from tests.report.reading import Page

EVIL = "</script><script>alert('&')</script><!--"


def read(text):
    page = Page()
    page.feed(text)
    page.close()
    return page


def test_all_text_is_escaped():
    parts = [cards([(EVIL, EVIL)]), facts([("a", EVIL)]), table([EVIL, "b"], [[EVIL, "1"]])]

    page = read(section(EVIL, EVIL, *parts))

    assert page.headings == page.leads == [EVIL]
    assert page.named == {EVIL: EVIL, "a": EVIL}
    assert page.rows == [[EVIL, "b"], [EVIL, "1"]]
    assert page.scripts == []


def test_a_figure_that_contains_the_end_of_a_script_is_read_as_written():
    figure = {"data": [{"text": [EVIL, "δ"], "y": [1.5, None]}], "layout": {}}

    page = read(figures([Panel(figure, EVIL)]))

    assert page.figures == [figure]
    assert page.captions == [EVIL]
    assert ("div", "aria-label", EVIL) in page.attributes
