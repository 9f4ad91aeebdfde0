"""Reads an event stream with nothing but Python's standard library, as 002 tells Python clients to.

Takes one JSON object on standard input: {"url", "headers", "body"?}. With a body it is a POST. Prints what comes as
one JSON line per message, at once, and ends at [DONE] or with the stream.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit


def lines_of(response):
    """Lines as they arrive: a read never waits for more than there is."""
    buffer = b""
    while True:
        piece = response.read1(65536)
        if not piece:
            return
        buffer += piece
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            yield line.decode("utf-8")


def main():
    wish = json.load(sys.stdin)
    url = urlsplit(wish["url"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    body = wish.get("body")
    path = url.path + ("?" + url.query if url.query else "")
    connection.request(
        "GET" if body is None else "POST",
        path,
        body=None if body is None else json.dumps(body).encode("utf-8"),
        headers={**wish["headers"], "content-type": "application/json", "accept": "text/event-stream"},
    )
    response = connection.getresponse()
    if response.status != 200:
        sys.exit(f"refused with {response.status}: {response.read().decode('utf-8')}")
    last_id = None
    for line in lines_of(response):
        if line.startswith("id: "):
            last_id = line[4:]
        if not line.startswith("data: "):
            continue
        data = line[6:]
        if data == "[DONE]":
            print(json.dumps({"type": "[DONE]"}), flush=True)
            return
        event = json.loads(data)
        if last_id is not None:
            event["event_id"] = last_id
        print(json.dumps(event), flush=True)


main()
