"""/api/queue: the same as /api/queues/{shard}, for a queue that is named by its name and tags."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from api import queues
from api.access import require_any
from api.fields import Name, Strict, Tags
from api.views import ApiView, found
from queues.models import Queue


class QueueName(Strict):
    name = Name(help_text="The name of the queue.")
    tag = Tags(default=list, help_text="All of its tags, one argument each; without any, the queue without tags.")


class ByName(ApiView):
    """Finds the number of the queue that the arguments name."""

    addressed_by = ("name", "tag")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        given = self.named(QueueName)
        name, tags = given["name"], sorted(set(given["tag"]))
        require_any(request, name)
        with_tags = f"with the tags {', '.join(tags)}" if tags else "without tags"
        queue = Queue.objects.filter(name=name, tags=tags).first()
        self.kwargs["shard"] = found(queue, name, f"There is no queue {name} {with_tags}.").pk


def by_name(view: type[ApiView], **operations: str) -> type[ApiView]:
    """`operations`: by method, the name of the operation in the document."""
    described = {
        method: extend_schema(operation_id=name, parameters=[QueueName]) for method, name in operations.items()
    }
    named = type(f"{view.__name__}ByName", (ByName, view), {})
    return extend_schema_view(**described)(named)


QueueByName = by_name(queues.QueueApi, get="show_named_queue", patch="change_named_queue", delete="delete_named_queue")
PauseByName = by_name(queues.PauseApi, post="pause_named_queue")
ResumeByName = by_name(queues.ResumeApi, post="resume_named_queue")
PurgeByName = by_name(queues.PurgeApi, post="purge_named_queue")
WhyByName = by_name(queues.QueueWhyApi, get="why_named_queue")
