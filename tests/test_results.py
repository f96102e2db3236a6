"""What the plot stage reads: whole, checked, and refused in one line where it is not."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError
from charlm.reading import read_json
from charlm.results import Metrics, Samples, read_curve
from tests.examples import METRICS, TRAINED


class TestReadCurve:
    def test_gives_each_seed_its_row_whatever_the_order_of_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "curve.csv"
        path.write_text("seed,step,train_loss,val_loss\n2,10,1.5,1.75\n1,0,4.5,4.25\n2,0,4.0,4.125\n1,10,1.0,1.25\n")
        found = read_curve(path)
        assert found.seeds == (1, 2)
        assert found.steps.tolist() == [0, 10]
        assert found.train.tolist() == [[4.5, 1.0], [4.0, 1.5]]
        assert found.val.tolist() == [[4.25, 1.25], [4.125, 1.75]]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "not a table of seed, step, train_loss, val_loss: No columns"),
            ("seed,step,train_loss,val_loss\n", "holds no losses"),
            ("seed,step,train_loss\n1,0,4.5\n", "['val_loss']"),
            ("seed,step,train_loss,val_loss\n1,0,4.5\n", "lacks a finite number"),
            ("seed,step,train_loss,val_loss\n1,0,4,4\n1,x,4,4\n", "not a table"),
            ("seed,step,train_loss,val_loss\n1,0,nan,4\n", "lacks a finite number"),
            ("seed,step,train_loss,val_loss\n1,0,,4\n", "lacks a finite number"),
            ("seed,step,train_loss,val_loss\n1,0,4,inf\n", "lacks a finite number"),
            ("seed,step,train_loss,val_loss\n1,0,4,4\n1,0,4,4\n", "duplicate entries"),
            ("seed,step,train_loss,val_loss\n1,0,4,4\n2,5,4,4\n", "lacks a finite loss"),
        ],
    )
    def test_a_broken_table_is_one_line_that_names_the_file(self, tmp_path: Path, text: str, complaint: str) -> None:
        path = tmp_path / "curve.csv"
        path.write_text(text)
        with pytest.raises(CharlmError) as caught:
            read_curve(path)
        assert str(caught.value).startswith(str(path))
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
    def test_no_file_and_no_text(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "curve.csv"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(CharlmError, match=r"curve\.csv is not"):
            read_curve(path)


class TestRead:
    def broken(self, path: Path, kind: type[Metrics] | type[Samples]) -> str:
        with pytest.raises(CharlmError) as caught:
            read_json(kind, path)
        message = str(caught.value)
        assert message.startswith(str(path))
        assert "\n" not in message
        return message

    @pytest.mark.parametrize(
        ("where", "value", "complaint"),
        [
            (("models",), None, "models: "),
            (("models",), {}, "models: "),
            (("models", "bigram", "val_loss"), ..., "models.bigram.val_loss: Field required"),
            (("models", "bigram", "val_loss"), math.nan, "models.bigram.val_loss: Input should be a finite number"),
            (("models", "attention", "val_bits"), "3.5", "models.attention.val_bits: Input should be a valid number"),
            (("models", "../etc"), TRAINED["bigram"], "models.../etc"),
            (("difference",), ..., "two models and no 'difference'"),
            (("counts", "unigram", "val_loss"), math.inf, "counts.unigram.val_loss: Input should be a finite number"),
            (("counts", "unigram", "val_loss"), 1e9, "counts.unigram.val_loss: "),
            (("tokens", "val"), 1.5, "tokens.val: "),
            (("seeds",), 0, "seeds: "),
            (("block_size",), ..., "block_size: Field required"),
            (("floor", "bigram_train_gap_min"), -0.001, "floor.bigram_train_gap_min: "),  # no table is that good
            (("difference", "text_low"), "-0.1", "difference.text_low: "),
        ],
    )
    def test_a_wrong_value_is_named(self, tmp_path: Path, where: tuple[str, ...], value: Any, complaint: str) -> None:
        metrics = copy.deepcopy(METRICS)
        part = metrics
        for key in where[:-1]:
            part = part[key]
        if value is ...:
            del part[where[-1]]
        else:
            part[where[-1]] = value
        path = tmp_path / "metrics.json"
        path.write_text(json.dumps(metrics))
        assert complaint in self.broken(path, Metrics)

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"prompt": "\\ud800"}'])
    def test_what_is_no_json_object(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "samples.json"
        path.write_bytes(content)
        self.broken(path, Samples)

    def test_no_file(self, tmp_path: Path) -> None:
        assert "is not here" in self.broken(tmp_path / "metrics.json", Metrics)

    def test_keys_for_other_readers_are_let_by(self, tmp_path: Path) -> None:
        path = tmp_path / "metrics.json"
        path.write_text(json.dumps(METRICS | {"intervals": [1, 2]}))
        assert read_json(Metrics, path).seeds == 5
