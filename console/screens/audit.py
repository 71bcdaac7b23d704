"""Audit: who did what to what."""

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.frame import page, screen
from console.paging import page_of
from delivery.models import AuditEntry
from delivery.operating.permissions import May

FILTERS = ("actor", "action", "target")  # each: part of the text
WHICH = {"": "Actions", "records": "Changes to records"}
CHANGES = {ADDITION: "added", CHANGE: "changed", DELETION: "deleted"}


@screen(May.SEE_AUDIT)
def audit(request: HttpRequest) -> HttpResponse:
    which = "records" if request.GET.get("which") == "records" else ""
    tabs = [(key, title, reverse("console:audit") + (f"?which={key}" if key else "")) for key, title in WHICH.items()]
    if which == "records":
        shown = page_of(request.GET, LogEntry.objects.select_related("user", "content_type"), order=["-id"])
        return page(
            request, "console/audit_records.html", title="Audit", shown=shown, tabs=tabs, which=which, changes=CHANGES
        )
    given = {name: request.GET.get(name, "").strip() for name in FILTERS}
    entries = AuditEntry.objects.filter(**{f"{name}__icontains": text for name, text in given.items() if text})
    shown_entries = page_of(request.GET, entries, order=["-id"])
    return page(request, "console/audit.html", title="Audit", shown=shown_entries, given=given, tabs=tabs, which=which)
