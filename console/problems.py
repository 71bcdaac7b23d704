"""Pages that say what is wrong. They do not use the database, because that may be what is wrong."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@dataclass(frozen=True, slots=True)
class Problem:
    status: int
    title: str
    explanation: str


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponse:
    return render(request, "console/problem.html", {"problem": problem}, status=problem.status)
