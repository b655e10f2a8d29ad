"""Published measurements, and the schedules behind them rebuilt for the cycle model."""
