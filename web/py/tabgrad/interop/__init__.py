"""Where a run goes on when the tab is too small for it. These modules need PyTorch."""
