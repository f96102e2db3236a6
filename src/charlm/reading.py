"""How one stage reads what another wrote: whole and checked, or refused in one line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from charlm.errors import CharlmError

_AGAIN = "run `dvc repro` to make it anew"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # it goes into paths and table cells


class Input(BaseModel):
    """A part of a JSON file. Keys that are not described are for other readers."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


M = TypeVar("M", bound=BaseModel)


def read_json(kind: type[M], path: Path) -> M:
    """Read a JSON file that `kind` describes.

    Raises:
        CharlmError: the file is missing, or a key is missing or has the wrong kind of value.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise CharlmError(f"{path} is not here; run `dvc repro`") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise refusal(path, f"{where + ': ' if where else ''}{first['msg']}", after=":") from None


def read_table(path: Path, columns: dict[str, str]) -> pd.DataFrame:
    """Read the columns (name -> type) of a CSV file that has a row at least and a finite number in each number's place.

    Raises:
        CharlmError: the file is missing or is no such table.
    """
    try:
        rows = pd.read_csv(path, usecols=list(columns), dtype=columns)
    except FileNotFoundError:
        raise CharlmError(f"{path} is not here; run `dvc repro`") from None
    except (ValueError, pd.errors.ParserError) as error:
        raise no_table(path, columns, error) from None
    if rows.empty:
        raise refusal(path, "holds no losses")
    if rows.isna().to_numpy().any() or not np.isfinite(rows.select_dtypes("number").to_numpy()).all():
        raise refusal(path, "lacks a finite number somewhere")
    return rows


def spread_out(path: Path, rows: pd.DataFrame, *, index: list[str], columns: str, values: list[str]) -> pd.DataFrame:
    """Return the rows of `read_table` laid out with one line for each `index` and one column for each value.

    Raises:
        CharlmError: a value is missing, or stands there twice.
    """
    try:
        table = rows.pivot(index=index, columns=columns, values=values)
    except ValueError as error:
        raise no_table(path, rows.columns, error) from None
    if table.isna().to_numpy().any():
        raise refusal(path, f"lacks a finite loss for some {columns}")
    return table


def no_table(path: Path, columns: Iterable[str], error: Exception) -> CharlmError:
    """Return the error for a file that is not the table it should be."""
    return refusal(path, f"is not a table of {', '.join(columns)}: {str(error).splitlines()[0]}")


def refusal(path: Path, complaint: str, after: str = "") -> CharlmError:
    """Return the error for a file that a stage cannot use as it is."""
    return CharlmError(f"{path}{after} {complaint}; {_AGAIN}")
