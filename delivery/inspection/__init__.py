"""Looking at messages without changing them: finding, paging, timelines and explanations."""
