"""The console's addresses about messages, dead letters, tags, clients and sessions."""

from django.urls import path

from console.screens import (
    clients,
    dead_letters,
    keys,
    message,
    message_actions,
    messages,
    redrives,
    sessions,
    tags,
    work,
    writing,
)

urlpatterns = [
    path("messages/", messages.messages, name="messages"),
    path("messages/new/", writing.message_new, name="message_new"),
    path("work/", work.work, name="work"),
    path("messages/act/", message_actions.messages_act, name="messages_act"),
    path("messages/<int:queue_id>/<int:index>/", message.message, name="message"),
    path("messages/<int:queue_id>/<int:index>/edit/", writing.message_edit, name="message_edit"),
    path("dead-letters/", dead_letters.dead_letters, name="dead_letters"),
    path("dead-letters/list/", dead_letters.dead_letter_list, name="dead_letter_list"),
    path("dead-letters/purge/", dead_letters.dead_letters_drop, name="dead_letters_drop"),
    path("dead-letters/export/", dead_letters.dead_letters_save, name="dead_letters_save"),
    path("redrives/new/", redrives.redrive_new, name="redrive_new"),
    path("redrives/<int:job_id>/", redrives.redrive, name="redrive"),
    path("redrives/<int:job_id>/cancel/", redrives.redrive_stop, name="redrive_stop"),
    path("redrives/<int:job_id>/undo/", redrives.redrive_back, name="redrive_back"),
    path("tag-explainer/", tags.tag_explainer, name="tag_explainer"),
    path("clients/", clients.clients, name="clients"),
    path("clients/new/", clients.client_new, name="client_new"),
    path("clients/<int:client_id>/", clients.client, name="client"),
    path("clients/<int:client_id>/delete/", clients.client_remove, name="client_remove"),
    path("clients/<int:client_id>/keys/new/", keys.key_new, name="key_new"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<int:key_id>/rotate/", keys.key_replace, name="key_replace"),
    path("keys/<int:key_id>/revoke/", keys.key_end, name="key_end"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/<int:session_id>/disconnect/", sessions.disconnect, name="session_disconnect"),
    path("sessions/<int:session_id>/fail/", sessions.fail_messages, name="session_fail"),
]
