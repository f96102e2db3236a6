"""Three verdicts: on bytes where they are promised, on numbers where they are not."""

import json

import pytest

from tools.compare import TOLERANCE, Finding, Output, compare

METRICS = {"models": {"bigram": {"val_loss": 2.5, "val_perplexity": 12.0, "val_loss_sd": None, "parameters": 4225}}}


def metrics(**changes: object) -> Output:
    """Return metrics with some values of the model changed."""
    content = json.dumps({"models": {"bigram": METRICS["models"]["bigram"] | changes}}).encode()
    return Output(str(hash(content)), content, is_metrics=True)


def kept(content: bytes) -> Output:
    return Output(str(hash(content)), content, is_metrics=False)


def cached(md5: str) -> Output:
    return Output(md5, None, is_metrics=False)


def found(path: str, old: Output, new: Output, *, to_the_byte: bool) -> Finding:
    (finding,) = compare({path: old}, {path: new}, to_the_byte=to_the_byte)
    assert finding.path == path
    return finding


@pytest.mark.parametrize("to_the_byte", [True, False])
@pytest.mark.parametrize("output", [metrics(), kept(b"\x89PNG"), cached("a" * 32)])
def test_the_same_is_identical_anywhere(output: Output, to_the_byte: bool) -> None:
    assert found("reports/x", output, output, to_the_byte=to_the_byte) == Finding("reports/x", "identical")


def test_a_number_that_is_close_is_enough_where_bytes_are_not_promised() -> None:
    close = metrics(val_loss=2.5 + TOLERANCE, val_perplexity=12 * (1 - TOLERANCE / 2))
    figures = "2 numbers differ, most of all models.bigram.val_perplexity: 12.0, and 11.9994 came out"
    assert found("m.json", metrics(), close, to_the_byte=False) == Finding("m.json", "equal within tolerance", figures)
    assert found("m.json", metrics(), close, to_the_byte=True) == Finding("m.json", "differs", figures)


@pytest.mark.parametrize(
    ("changes", "figures"),
    [
        ({"val_loss": 2.501}, "1 numbers differ, most of all models.bigram.val_loss: 2.5, and 2.501 came out"),
        ({"parameters": 4226}, "1 values differ, as models.bigram.parameters: 4225, and 4226 came out"),
        ({"val_loss_sd": 0.0}, "1 values differ, as models.bigram.val_loss_sd: None, and 0.0 came out"),
        ({"more": 0.0}, "1 values differ, as models.bigram.more: None, and 0.0 came out"),
    ],
)
def test_metrics_that_are_not_close_differ_anywhere(changes: dict[str, object], figures: str) -> None:
    for to_the_byte in (True, False):
        finding = found("m.json", metrics(), metrics(**changes), to_the_byte=to_the_byte)
        assert finding == Finding("m.json", "differs", figures)


@pytest.mark.parametrize(
    ("path", "old", "new", "figures"),
    [
        ("checkpoints/a", cached("a" * 32), cached("b" * 32), "dvc.lock has aaaaaaaaaaaa, and bbbbbbbbbbbb came out"),
        ("reports/a.png", kept(b"\x89PNG"), kept(b"\x89PNG2"), "4 bytes committed, 5 came out"),
        ("reports/a.md", kept(b"a\nb\n"), kept(b"a\nc\n"), "1 values differ, as line 2: 'b', and 'c' came out"),
        (
            "reports/a.csv",
            kept(b"step,val_loss\n0,4.5\n1,4.25\n"),
            kept(b"step,val_loss\n0,4.5\n1,4.125\n"),
            "1 numbers differ, most of all row 2 val_loss: 4.25, and 4.125 came out",
        ),
        (
            "reports/a.csv",
            kept(b"model,loss\nbigram,4.5\n"),
            kept(b"model,loss\nother,4.5\n"),
            "1 values differ, as row 1 model: 'bigram', and 'other' came out",
        ),
    ],
)
def test_other_results_are_excused_where_bytes_are_not_promised_and_nowhere_else(
    path: str, old: Output, new: Output, figures: str
) -> None:
    assert found(path, old, new, to_the_byte=True) == Finding(path, "differs", figures)
    assert found(path, old, new, to_the_byte=False) == Finding(path, "differs", figures, excused=True)


def test_data_is_excused_nowhere() -> None:
    finding = found("data/tokens/val.npy", cached("a" * 32), cached("b" * 32), to_the_byte=False)
    assert (finding.verdict, finding.excused) == ("differs", False)


def test_a_lock_file_that_names_another_hash_than_the_committed_file_has_differs() -> None:
    content = b"# Report\n"
    finding = found("r.md", Output("a" * 32, content, False), Output("b" * 32, content, False), to_the_byte=True)
    assert str(finding) == f"{'differs':<22}  r.md: dvc.lock has aaaaaaaaaaaa, and bbbbbbbbbbbb came out"


def test_what_came_out_or_did_not_is_named() -> None:
    picture = {"reports/figures/a.png": kept(b"\x89PNG")}
    [gone] = compare(picture, {}, to_the_byte=True)
    assert gone == Finding("reports/figures/a.png", "differs", "did not come out")
    [new] = compare({}, picture, to_the_byte=True)
    assert new == Finding("reports/figures/a.png", "differs", "came out and is not committed")
