"""The HTTP layer: the application, its middleware, its errors, and the routes of calls and events."""
