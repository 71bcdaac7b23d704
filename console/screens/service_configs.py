"""Configurations of services: what operators tell workers, version by version."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from console.asking import Question, answer
from console.frame import attempt, demand, page, screen
from console.paging import page_of
from delivery.operating.audit import staff
from delivery.operating.permissions import May
from delivery.serving.changes import service_config_change, service_config_delete, service_config_restore
from delivery.serving.config_form import ConfigField
from delivery.serving.models import DEFAULT_HEARTBEAT_INTERVAL, ServiceConfig, ServiceConfigVersion

MOST_VERSIONS = 50  # that are listed


class ConfigForm(forms.Form):
    heartbeat_interval = forms.FloatField(
        help_text="Seconds between two heartbeats that workers are asked to keep.", initial=DEFAULT_HEARTBEAT_INTERVAL
    )
    config = ConfigField(
        label="Configuration",
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
        help_text="A JSON object. Workers get it as JSON, XML or ZFL.",
        initial=dict,
    )


class NewConfigForm(ConfigForm):
    field_order = ("name", "heartbeat_interval", "config")

    name = forms.CharField(label="Service", max_length=200)


@screen(May.LOOK)
def service_configs(request: HttpRequest) -> HttpResponse:
    return page(
        request,
        "console/service_configs.html",
        title="Service configurations",
        lead="What the workers of each service are told. A change reaches those that are connected at once.",
        shown=page_of(request.GET, ServiceConfig.objects.all(), order=["name"]),
        breadcrumbs=[{"title": "Services", "link": reverse("console:services")}],
    )


@screen(May.CHANGE_SERVICES)
def service_config_new(request: HttpRequest) -> HttpResponse:
    form = NewConfigForm(request.POST or None, initial={"name": request.GET.get("name", "")})
    if request.method == "POST" and form.is_valid() and (saved := _saved(request, form)):
        return redirect("console:service_config", saved.pk)
    return _form_page(request, form, title="Configure a service", config=None)


@screen(May.LOOK)
def service_config(request: HttpRequest, config_id: int) -> HttpResponse:
    config = get_object_or_404(ServiceConfig, pk=config_id)
    kept = {"heartbeat_interval": config.heartbeat_interval, "config": config.config}
    form = ConfigForm(request.POST or None, initial=kept)
    if request.method == "POST":
        demand(request, May.CHANGE_SERVICES)
        if form.is_valid() and _saved(request, form, name=config.name):
            return redirect("console:service_config", config.pk)
    return _form_page(request, form, title=config.name, config=config)


@screen(May.CHANGE_SERVICES)
def service_config_back(request: HttpRequest, version_id: int) -> HttpResponse:
    version = get_object_or_404(ServiceConfigVersion.objects.select_related("service"), pk=version_id)
    question = Question(
        title=f"Restore version {version.version} of {version.service}",
        says=["It becomes the newest version, and the workers are told at once. Nothing of the history is lost."],
        button="Restore",
    )

    def act() -> str:
        service_config_restore(version=version, by=staff(request.user))
        return f"{version.service} is configured as in version {version.version} again."

    return answer(request, question, act, back=reverse("console:service_config", args=[version.service_id]))


@screen(May.CHANGE_SERVICES)
def service_config_remove(request: HttpRequest, config_id: int) -> HttpResponse:
    config = get_object_or_404(ServiceConfig, pk=config_id)
    question = Question(
        title=f"Delete the configuration of {config}",
        says=["It goes with its history, and its workers are told that nothing is configured any more."],
        button="Delete",
        destroys=True,
    )

    def act() -> str:
        service_config_delete(service=config, by=staff(request.user))
        return f"Deleted the configuration of {config}."

    return answer(request, question, act, back=reverse("console:service_configs"))


def _saved(request: HttpRequest, form: forms.Form, **named: str) -> ServiceConfig | None:
    """None: it was refused, and the form says why."""
    try:
        saved = service_config_change(**{**form.cleaned_data, **named}, by=staff(request.user))
    except ValidationError as refusal:
        form.add_error(None, refusal)
        return None
    attempt(request, lambda: f"{saved} is at version {saved.version}.")
    return saved


def _form_page(request: HttpRequest, form: forms.Form, *, title: str, config: ServiceConfig | None) -> HttpResponse:
    versions: Any = config.versions.select_related("changed_by")[:MOST_VERSIONS] if config else ()
    return page(
        request,
        "console/service_config.html",
        title=title,
        form=form,
        config=config,
        versions=versions,
        breadcrumbs=[{"title": "Service configurations", "link": reverse("console:service_configs")}],
    )
