from __future__ import annotations

import pytest

from tests.proof_table import Line, Row, read_marker, render

pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(
        """
        from tests.proof_table import ProofTable

        def pytest_configure(config):
            config.addinivalue_line("markers", "proof(area, line, title): holds an acceptance line")
            config.pluginmanager.register(ProofTable(config.getoption("--area")))

        def pytest_addoption(parser):
            parser.addoption("--area", default="")
        """
    )
    return pytester


def run(suite: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    suite.makepyfile("import pytest\n" + source)
    # The inner run must not read the settings or the plugins of the outer one, nor end it.
    return suite.runpytest_inprocess("-p", "no:cacheprovider", *arguments, no_reraise_ctrlc=True)


def test_table_is_sorted_by_area_and_line_and_shows_variants() -> None:
    rows = [
        Row(Line("storage", 10, "ten"), "passed", 1.0),
        Row(Line("storage", 2, "two", "trixie"), "failed", 61.25),
        Row(Line("storage", 2, "two", "bookworm"), "passed", 2.0),
        Row(Line("routing", 1, "one"), "passed", 3.0),
    ]
    header, *body = render(rows)
    assert header.split() == ["area", "line", "it", "must", "hold", "result", "seconds"]
    assert [" ".join(text.split()) for text in body] == [
        "routing 1 one passed 3.0",
        "storage 2 two [bookworm] passed 2.0",
        "storage 2 two [trixie] failed 61.2",
        "storage 10 ten passed 1.0",
    ]


def test_columns_line_up() -> None:
    rows = [
        Row(Line("storage", 1, "a long title that sets the width"), "passed", 0.0),
        Row(Line("dns", 2, "b"), "skipped", 0.0),
    ]
    assert len({len(text) for text in render(rows)}) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"area": "storage", "line": "1", "title": "t"},
        {"area": "", "line": 1, "title": "t"},
        {"area": "storage", "line": 1, "title": ""},
    ],
)
def test_marker_without_area_number_or_title_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="line is a number"):
        read_marker(**arguments)


def test_run_prints_each_line_with_its_result(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
@pytest.mark.proof(area="storage", line=2, title="it fails")
def test_bad():
    raise RuntimeError

@pytest.mark.proof("storage", 1, "it holds")
@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_good(release):
    pass

def test_without_a_line():
    pass
""",
    )
    result.stdout.re_match_lines_random(
        [
            r"storage +1 +it holds \[bookworm\] +passed +\d",
            r"storage +1 +it holds \[trixie\] +passed +\d",
            r"storage +2 +it fails +failed +\d",
        ]
    )
    result.stdout.no_re_match_line(r".*test_without_a_line +passed")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_failure_while_taking_down_fails_the_line(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
@pytest.fixture
def host():
    yield
    raise RuntimeError

@pytest.mark.proof("lab", 1, "nothing is left behind")
def test_down(host):
    pass
""",
    )
    result.stdout.re_match_lines([r"lab +1 +nothing is left behind +failed"])


def test_skipped_line_fails_the_run(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
@pytest.mark.proof("lab", 1, "boots")
def test_skip():
    pytest.skip("no root")
""",
    )
    result.stdout.re_match_lines([r"lab +1 +boots +skipped"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_run_without_lines_prints_no_table(suite: pytest.Pytester) -> None:
    result = run(suite, "def test_plain():\n    pass\n")
    result.stdout.no_fnmatch_line("*acceptance lines*")
    assert result.ret == pytest.ExitCode.OK


def test_wrong_marker_names_the_test(suite: pytest.Pytester) -> None:
    result = run(suite, '@pytest.mark.proof("lab")\ndef test_wrong():\n    pass\n')
    result.stderr.re_match_lines([r".*test_wrong.*proof\(area, line, title\)"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_line_whose_test_was_interrupted_or_never_reached_is_not_proved(suite: pytest.Pytester) -> None:
    result = run(
        suite,
        """
@pytest.mark.proof("storage", 1, "it is interrupted")
def test_first():
    raise KeyboardInterrupt

@pytest.mark.proof("storage", 2, "it is never reached")
def test_second():
    pass
""",
    )
    result.stdout.re_match_lines_random(
        [r"storage +1 +it is interrupted +not run +\d", r"storage +2 +it is never reached +not run +\d"]
    )
    result.stdout.no_re_match_line(r".*passed")


TWO_AREAS = """
@pytest.mark.proof(area="storage", line=1, title="one")
def test_storage(): pass

@pytest.mark.proof(area="kernel", line=2, title="two")
def test_kernel(): assert False

def test_of_no_area(): assert False
"""


def test_one_area_alone_runs_wherever_its_tests_stand(suite: pytest.Pytester) -> None:
    result = run(suite, TWO_AREAS, "--area", "storage")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(["storage*one*passed*"])
    result.stdout.no_fnmatch_line("kernel*two*")


def test_an_area_that_nothing_proves_is_a_mistake(suite: pytest.Pytester) -> None:
    result = run(suite, TWO_AREAS, "--area", "storge")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*No acceptance line is of the area 'storge'; areas: [[]'kernel', 'storage'[]]*"])
