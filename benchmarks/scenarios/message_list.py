"""The console's list of messages while a million wait in one queue: its first page, deep in it, by state, age, text."""

from benchmarks.figures import Bar, Figure
from benchmarks.operator import Operator
from benchmarks.scale import Scale
from benchmarks.stage import Stage

NAME = "message-list"
QUEUE = "message-list"
BODY_SIZE = 100  # bytes
LIST = "/console/messages/"
PROMISED = 300.0  # milliseconds
TEXT_PROMISED = 1500.0  # the same where bodies are read: a search stops after a second
AT_MOST = Bar(1.0, at_most=True)


def run(stage: Stage, scale: Scale) -> list[Figure]:
    queue_id = stage.define(QUEUE)
    stage.lay_out(queue_id, messages=scale.backlog, body_size=BODY_SIZE)
    operator = Operator(stage.broker)
    [[middle]] = stage.rows(
        "SELECT newest_index - %s FROM queues_counter WHERE queue_id = %s", scale.backlog // 2, queue_id
    )
    searches = {
        "first page": {},
        "from the middle on": {"queue": QUEUE, "after": _cursor(stage, queue_id, middle)},
        "from the back": {"queue": QUEUE, "sort": "last"},
        "next to be handed out": {"state": "0"},
        "by index": {"index": str(middle)},
        "by an age that none has": {"older": "90d"},
    }
    figures = [_figure(operator, scale, name, PROMISED, query) for name, query in searches.items()]
    return [*figures, _figure(operator, scale, "by a text that is in none", TEXT_PROMISED, {"text": "nowhere"})]


def _cursor(stage: Stage, queue_id: int, index: int) -> str:
    """Cursors are signed with the broker's secret, so the broker's own code has to write this one."""
    program = (
        "from delivery.inspection.index_walk import BY_INDEX\n"
        "from delivery.inspection.search import list_name\n"
        "from delivery.storage.pages import write_cursor\n"
        f"print(write_cursor(({queue_id}, 0, {index}), of=list_name(BY_INDEX)))"
    )
    return stage.broker.output_of("shell", "--verbosity=0", "--command", program).strip()


def _figure(operator: Operator, scale: Scale, name: str, promised: float, query: dict[str, str]) -> Figure:
    operator.milliseconds_for(LIST, **query)  # warms up
    values = [operator.milliseconds_for(LIST, **query) for _ in range(scale.runs)]
    title = f"messages of {scale.backlog:,}, {name} (limit: promised)"
    return Figure(name=title, unit="ms", values=values, limits=[promised] * scale.runs, bar=AT_MOST)
