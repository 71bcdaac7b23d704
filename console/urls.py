"""The console's addresses. Those about messages and clients are in console/message_urls.py."""

from django.urls import include, path

from console.screens import analysts, audit, database, nodes, overview, queues, reaper, services

app_name = "console"

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("queues/", queues.queues, name="queues"),
    path("services/", services.services, name="services"),
    path("nodes/", nodes.nodes, name="nodes"),
    path("reaper/", reaper.reaper, name="reaper"),
    path("database/", database.database, name="database"),
    path("analysts/", analysts.analysts, name="analysts"),
    path("audit/", audit.audit, name="audit"),
    path("", include("console.message_urls")),
]
