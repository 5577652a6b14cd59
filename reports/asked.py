"""The workbench's query string, read into a workload by the form that owns it."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import TooManyFieldsSent
from django.http import QueryDict

from planner import private_market
from planner.forms import WorkbenchForm
from planner.views import choices
from reports.services import NamedWorkload


class NotAWorkloadError(ValueError):
    """The query string describes no workload; carries the form with its messages."""

    def __init__(self, form: WorkbenchForm) -> None:
        super().__init__("not a workload")
        self.form = form


def read(query: QueryDict, *, at: datetime, team_id: int | None = None) -> NamedWorkload:
    """Raises `NotAWorkloadError` where a field of the workbench is refused."""
    form = WorkbenchForm.from_query(query, at=at, choices=choices(private_market.current(at, team_id)))
    if not form.is_valid():
        raise NotAWorkloadError(form)
    return NamedWorkload(
        form.workload(), query=form.query_string(without=("page", "sort", "columns", "into"))
    )


def read_text(query: str, *, at: datetime, team_id: int | None = None) -> NamedWorkload:
    """The same from a query string that came in a form; one with too many fields describes no workload either."""
    try:
        given = QueryDict(query)
    except TooManyFieldsSent:
        raise NotAWorkloadError(WorkbenchForm.from_query()) from None
    return read(given, at=at, team_id=team_id)
