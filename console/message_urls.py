"""The console's addresses about messages, dead letters, tags, clients and sessions."""

from django.urls import path

from console.screens import clients, dead_letters, messages, sessions, tags

urlpatterns = [
    path("messages/", messages.messages, name="messages"),
    path("dead-letters/", dead_letters.dead_letters, name="dead_letters"),
    path("tag-explainer/", tags.tag_explainer, name="tag_explainer"),
    path("clients/", clients.clients, name="clients"),
    path("sessions/", sessions.sessions, name="sessions"),
]
