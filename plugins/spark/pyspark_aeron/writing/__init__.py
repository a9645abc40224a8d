"""The sink: rows staged by tasks, then recorded or published by the commit."""
