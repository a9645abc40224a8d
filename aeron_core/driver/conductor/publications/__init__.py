"""Publications: registrars, lifecycles, destinations, session ids, response channels."""
