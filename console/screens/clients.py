"""Clients: who they are, what they read and hold, and how far they are behind."""

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from clients.models import Client
from clients.selectors import keys_with_grants
from console.asking import Question, answer, ask
from console.frame import page, screen
from console.paging import page_of
from console.screens.keys import shown_keys
from delivery.figures.clients import client_figures, client_progress
from delivery.operating.audit import staff
from delivery.operating.clients import client_create, client_delete
from delivery.operating.permissions import May


@screen(May.LOOK)
def clients(request: HttpRequest) -> HttpResponse:
    wanted = request.GET.get("name", "").strip()
    chosen = Client.objects.filter(name__icontains=wanted) if wanted else Client.objects.all()
    listed = page_of(request.GET, chosen, order=["name"])
    figures = client_figures(client.pk for client in listed.rows)
    return page(
        request,
        "console/clients.html",
        title="Clients",
        lead="Programs that registered under a name, or that own keys.",
        clients=[(client, figures.get(client.pk)) for client in listed.rows],
        listed=listed,
        wanted=wanted,
    )


@screen(May.LOOK)
def client(request: HttpRequest, client_id: int) -> HttpResponse:
    shown = get_object_or_404(Client, pk=client_id)
    return page(
        request,
        "console/client.html",
        title=shown.name,
        breadcrumbs=[{"link": reverse("console:clients"), "title": "Clients"}],
        client=shown,
        figures=client_figures([shown.pk])[shown.pk],
        session=shown.sessions.filter(ended_at=None).select_related("node", "key", "client").first(),
        subscriptions=shown.subscriptions.order_by("name", "label"),
        progress=client_progress(shown),
        keys=shown_keys(keys_with_grants().filter(client=shown)),
        this=request.get_full_path(),
    )


class NewClientForm(forms.Form):
    name = forms.CharField(max_length=200, help_text="Under which the program registers: printable ASCII characters.")
    persistent = forms.TypedChoiceField(
        label="Kept",
        coerce=lambda value: value == "yes",
        choices=[("yes", "for ever: until an operator removes it"), ("no", "until it has been away for a while")],
    )


@screen(May.CREATE_CLIENTS)
def client_new(request: HttpRequest) -> HttpResponse:
    form = NewClientForm(request.POST or None)
    question = Question(
        title="New client",
        says=["Most clients are made when their program registers. Make one here to give it a key beforehand."],
        button="Make the client",
        form=form,
    )
    if request.method == "POST" and form.is_valid():
        try:
            made = client_create(**form.cleaned_data, by=staff(request.user))
        except ValidationError as refusal:
            form.add_error("name", refusal)
        else:
            return redirect("console:client", made.pk)
    return ask(request, question, back=reverse("console:clients"))


@screen(May.DELETE_CLIENTS)
def client_remove(request: HttpRequest, client_id: int) -> HttpResponse:
    gone = get_object_or_404(Client, pk=client_id)
    question = Question(
        title=f"Delete the client {gone}",
        says=[
            "Its keys stop working, and its subscriptions and positions in streams are forgotten.",
            "Only a client that is not connected can be deleted.",
        ],
        button="Delete the client",
        destroys=True,
    )

    def act() -> str:
        client_delete(client=gone, by=staff(request.user))
        return f"Deleted the client {gone}."

    return answer(request, question, act, back=reverse("console:clients"))
