"""What people look at: findings, costs and timelines as text, JSON and pictures."""
