"""Name resolver `table`: hosts from the options, `orders=10.0.0.2,prices=10.0.0.3`, else from the fallback."""

from aeron_core.spi import hookimpl


class TableNameResolver:
    def __init__(self, params):
        self.hosts = dict(item.split("=") for item in params.options.split(",") if item)
        self.fallback = params.fallback

    def lookup(self, name, uri_key, is_re_lookup):
        return name  # no names that stand for host and port

    def resolve(self, host, uri_key, is_re_resolution):
        return self.hosts.get(host) or self.fallback.resolve(host, uri_key, is_re_resolution)


@hookimpl
def aeron_name_resolvers():
    return {"table": TableNameResolver}
