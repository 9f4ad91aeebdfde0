"""Reads an event stream with only Python's standard library, as the source document of `responses` shows it.

Reads one JSON object from standard input: {"url", "headers", "body"?}. With a body it sends a POST. Prints each message
immediately as one line of JSON, and ends at [DONE] or with the stream.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit


def lines_of(response):
    """Yields lines as they arrive: `read1` returns the available bytes and does not wait for more."""
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
