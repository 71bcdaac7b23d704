"""Labels, by which answers find their commands."""

import secrets
from itertools import count

# Labels of subscriptions, which the broker keeps for a registered client, begin anywhere above this: those of an
# earlier life of the program are no others of this one.
FIRST_SUBSCRIPTION_LABEL = 2**48


class Labels:
    def __init__(self) -> None:
        self.new = count(1).__next__  # for a command
        self._of_subscriptions = range(0)

    def new_of_subscription(self) -> int:
        first = self._of_subscriptions.start or FIRST_SUBSCRIPTION_LABEL + secrets.randbits(47)
        self._of_subscriptions = range(first, max(first, self._of_subscriptions.stop) + 1)
        return self._of_subscriptions[-1]

    def are_own(self, label: int) -> bool:
        """Whether it was given out here, and not in an earlier life of the program."""
        return label < FIRST_SUBSCRIPTION_LABEL or label in self._of_subscriptions
