"""Two Python clients of document 002, written from its instructions alone, with only the standard library.

Reads one JSON object from standard input: {"url", "headers", "body", "mode"}. The mode is `sync` or `async`. Prints one
JSON object with everything that the handlers received: {"text", "final_text", "steps", "forms", "errors", "done"}.
"""

import asyncio
import http.client
import json
import sys
from urllib.parse import urlsplit


class Conversation:
    """The handlers: one branch for each event that the document names."""

    def __init__(self):
        self.seen = {"text": "", "final_text": None, "steps": [], "forms": [], "errors": [], "done": False}

    def handle_line(self, line):
        """Returns True at the end of the stream."""
        if not line.startswith("data: "):
            return False
        data = line[6:]
        if data == "[DONE]":
            self.seen["done"] = True
            return True
        self.handle_event(json.loads(data))
        return False

    def handle_event(self, event):
        event_type = event.get("type")
        if event_type == "response.output_text.delta":
            self.seen["text"] += event["delta"]
        elif event_type == "response.output_text.completed":
            self.seen["final_text"] = event["final_text"]
        elif event_type == "response.reasoning_step.start":
            self.seen["steps"].append(event["step"]["content"])
        elif event_type == "response.interaction_request":
            self.seen["forms"].append({"id": event["form_request_id"], "title": event["form_schema"]["title"]})
        elif event_type == "response.error":
            self.seen["errors"].append(event["message"])


def headers_of(request):
    return {**request["headers"], "content-type": "application/json", "accept": "text/event-stream"}


def stream_chat(request, conversation):
    url = urlsplit(request["url"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=180)
    body = json.dumps({**request["body"], "stream": True}).encode("utf-8")
    connection.request("POST", url.path, body=body, headers=headers_of(request))
    response = connection.getresponse()
    if response.status != 200:
        sys.exit(f"HTTP {response.status}: {response.read().decode('utf-8')}")
    for line in response:
        if conversation.handle_line(line.decode("utf-8").rstrip("\r\n")):
            break
    connection.close()


async def read_body(reader):
    """Yields the bytes of a chunked body."""
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        if size == 0:
            return
        yield await reader.readexactly(size)
        await reader.readline()


async def stream_chat_async(request, conversation):
    url = urlsplit(request["url"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    body = json.dumps({**request["body"], "stream": True}).encode("utf-8")
    lines = [f"POST {url.path} HTTP/1.1", f"host: {url.netloc}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers_of(request).items()]
    writer.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body)
    await writer.drain()
    status = await reader.readline()
    if b" 200 " not in status:
        sys.exit(status.decode("ascii"))
    while (await reader.readline()).strip() != b"":
        pass
    buffer = b""
    async for piece in read_body(reader):
        *whole, buffer = (buffer + piece).split(b"\n")
        if any([conversation.handle_line(line.decode("utf-8").strip()) for line in whole]):
            break
    writer.close()


def main():
    request = json.load(sys.stdin)
    conversation = Conversation()
    if request["mode"] == "async":
        asyncio.run(stream_chat_async(request, conversation))
    else:
        stream_chat(request, conversation)
    print(json.dumps(conversation.seen))


main()
