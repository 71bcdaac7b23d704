"""Tag explainer: which queues match a name, tags and a match mode, and why the others do not."""

from django import forms
from django.http import HttpRequest, HttpResponse

from console.frame import page, screen
from console.message_forms import TagsField
from delivery.inspection.tag_explainer import MOST_QUEUES, explain_tags
from delivery.operating.permissions import May

MEANINGS = {
    "": "default: `exact` with tags, `all` without",
    "all": "every queue of the name",
    "exact": "the queue with these tags and no others",
    "strict": "queues that have all of these tags",
    "combined": "queues that have one of these tags, in one order",
    "any": "queues that have one of these tags, in turns",
}


class ReaderForm(forms.Form):
    """What a reader says in `fetch`, `pop` or `subscribe`."""

    name = forms.CharField(label="Queue name", max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    tags = TagsField()
    match = forms.ChoiceField(
        required=False,
        choices=[(name, f"{name}: {meaning}" if name else meaning) for name, meaning in MEANINGS.items()],
    )


@screen(May.LOOK)
def tag_explainer(request: HttpRequest) -> HttpResponse:
    form = ReaderForm(request.GET or None)
    explained = None
    if form.is_valid():
        given = form.cleaned_data
        explained = explain_tags(name=given["name"], tags=given["tags"], match=given["match"] or None)
    return page(
        request,
        "console/tag_explainer.html",
        title="Tag explainer",
        lead="Enter what a program reads, and see which queues match and why the others do not.",
        form=form,
        explained=explained,
        chosen=sum(one.matches for one in explained or ()),
        most=MOST_QUEUES,
    )
