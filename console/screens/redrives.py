"""Redriving dead letters: a dry run first, then a job that the reaper works off, with its progress and its undoing."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from clients.key_forms import SpanField
from console.asking import Question, answer, way_back
from console.dead_letter_choice import DeadLetterChoice, read_choice
from console.frame import page, screen
from console.live.parts import Part
from console.target_forms import TargetQueueForm
from delivery.operating.audit import staff
from delivery.operating.models import JobState, RedriveJob
from delivery.operating.permissions import May
from delivery.operating.redrive_jobs import redrive_cancel, redrive_dry_run, redrive_start, redrive_undo
from queues.models import Queue

HIGHEST_RATE = 1_000_000  # messages a second


class RedriveForm(TargetQueueForm):
    rate = forms.FloatField(
        label="Messages a second, at most",
        required=False,
        min_value=0.001,
        max_value=HIGHEST_RATE,
        help_text="A limit protects the consumers. Empty: as fast as possible.",
    )
    undo = SpanField(
        label="Can be undone for",
        initial="1h",
        help_text="Such as 30m or 12h, at most 7d. Until then, messages that nobody has taken can be brought back.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["queue"].required = False
        self.fields["queue"].help_text = "Empty: each message goes back to the queue it came from."


@screen(May.REDRIVE)
def redrive_new(request: HttpRequest) -> HttpResponse:
    """The dry run, and on `start` the job."""
    given = request.POST if request.method == "POST" else request.GET
    try:
        choice = read_choice(given)
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect("console:dead_letters")
    form = RedriveForm(request.POST if "undo" in request.POST else None)
    if "start" in request.POST and form.is_valid():
        job = _start(request, choice, form)
        if job is not None:
            return redirect("console:redrive", job.pk)
    return _dry_run(request, choice, form)


def _start(request: HttpRequest, choice: DeadLetterChoice, form: RedriveForm) -> RedriveJob | None:
    chosen = form.cleaned_data
    try:
        return redrive_start(
            chosen=choice.chosen(),
            by=staff(request.user),
            target=chosen.get("target"),
            rate=chosen["rate"],
            undo_seconds=chosen["undo"].total_seconds(),
        )
    except ValidationError as refusal:
        form.add_error(None, refusal.messages)
        return None


def _dry_run(request: HttpRequest, choice: DeadLetterChoice, form: RedriveForm) -> HttpResponse:
    target = form.cleaned_data.get("target") if form.is_bound and form.is_valid() else None
    try:
        dry_run = redrive_dry_run(chosen=choice.chosen(), target=target)
    except ValidationError as refusal:
        messages.error(request, refusal.messages[0])
        return redirect("console:dead_letters")
    return page(
        request,
        "console/redrive_new.html",
        title="Redrive dead letters",
        lead=f"{choice.words[:1].upper()}{choice.words[1:]}.",
        breadcrumbs=[{"link": reverse("console:dead_letters"), "title": "Dead letters"}],
        choice=choice,
        form=form,
        dry_run=dry_run,
        back=way_back(request, reverse("console:dead_letters")),
    )


def read_redrive(given: QueryDict, *, job_id: int) -> dict[str, Any]:
    job = RedriveJob.objects.filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no redrive {job_id}.")
    handled = job.moved + job.skipped + job.failed
    return {
        "job": job,
        "state": JobState(job.state).label,
        "handled": handled,
        "left": max(job.total - handled, 0),
        "percent": 100 if job.state != JobState.RUNNING or not job.total else min(100 * handled // job.total, 100),
        "seconds_left": max(job.total - handled, 0) / job.rate if job.rate and job.state == JobState.RUNNING else None,
        "target": Queue.objects.filter(pk=job.target_queue_id).first() if job.target_queue_id else None,
        "can_cancel": job.state == JobState.RUNNING,
        "can_undo": job.state in (JobState.DONE, JobState.CANCELLED) and job.undo_until > timezone.now() and job.moved,
    }


PART = Part("console/parts/redrive.html", read_redrive, every=1.0)


@screen(May.LOOK, live=PART)
def redrive(request: HttpRequest, job_id: int) -> HttpResponse:
    return page(
        request,
        "console/redrive.html",
        title=f"Redrive {job_id}",
        breadcrumbs=[{"link": reverse("console:dead_letters"), "title": "Dead letters"}],
        part=PART,
    )


@screen(May.REDRIVE)
def redrive_stop(request: HttpRequest, job_id: int) -> HttpResponse:
    job = get_object_or_404(RedriveJob, pk=job_id)
    question = Question(
        title=f"Cancel redrive {job.pk}",
        says=["Messages that were moved stay moved, and the redrive can be undone. The others stay where they are."],
        button="Cancel the redrive",
    )

    def act() -> str:
        redrive_cancel(job=job, by=staff(request.user))
        return f"Redrive {job.pk} was cancelled."

    return answer(request, question, act, back=reverse("console:redrive", args=[job.pk]))


@screen(May.REDRIVE)
def redrive_back(request: HttpRequest, job_id: int) -> HttpResponse:
    job = get_object_or_404(RedriveJob, pk=job_id)
    question = Question(
        title=f"Undo redrive {job.pk}",
        says=["Messages that it moved and nobody has taken become dead letters again. The others stay where they are."],
        button="Undo the redrive",
    )

    def act() -> str:
        redrive_undo(job=job, by=staff(request.user))
        return f"Redrive {job.pk} is being undone."

    return answer(request, question, act, back=reverse("console:redrive", args=[job.pk]))
