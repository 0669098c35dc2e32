# The relay of bench/peers: relay.py FOLDER. An echo through it takes at least twice the distance,
# and arrives in order.
import socket, sys, threading, time

sys.path.insert(0, sys.argv[1])
import clients  # noqa: E402

# The delay of bench/relay.c for client 3 and node 1, up to 10 ms, computed here from its
# splitmix64.
x = (0x9E3779B97F4A7C15 * (3 * 64 + 1 + 1)) % 2**64
x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
assert clients.delay_s(3, 1, 10) == ((x ^ (x >> 31)) % 10000001) / 1e9
drawn = [clients.delay_s(client, node, 10) for client in range(8) for node in range(5)]
assert 0 <= min(drawn) < 0.002 and 0.008 < max(drawn) <= 0.01 and len(set(drawn)) == 40


def echo(listener):
    connection, _ = listener.accept()
    while data := connection.recv(4096):
        connection.sendall(data)


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=echo, args=(listener,), daemon=True).start()
relay = clients.Relay([f"redis://127.0.0.1:{listener.getsockname()[1]}"], 10, 3)
try:
    assert relay.urls[0].startswith("redis://127.0.0.1:")
    with socket.create_connection(("127.0.0.1", int(relay.urls[0].rpartition(":")[2])), timeout=20) as connection:
        for size in (1, 100, 30000):
            sent = bytes(i % 251 for i in range(size))
            begin, got = time.monotonic(), b""
            connection.sendall(sent)
            while len(got) < size:
                got += connection.recv(65536)
            assert got == sent
            assert time.monotonic() - begin >= 2 * clients.delay_s(3, 0, 10), time.monotonic() - begin
finally:
    relay.close()
