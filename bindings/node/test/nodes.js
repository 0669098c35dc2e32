'use strict';
// Real redis-servers for one test file, each on a free port; they end with it. With a folder of
// certificates (cluster/certificates.sh) they speak only TLS.

const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const server = process.env.REDLOCK_SERVER ?? 'redis-server';

function freePort() {
  return new Promise((resolve) => {
    const socket = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });
}

// Sends one command; returns the first line of its answer.
function ask(port, certificates, ...words) {
  return new Promise((resolve, reject) => {
    const socket = certificates ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : net.connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', (bytes) => {
      socket.destroy();
      resolve(bytes.toString().split('\r\n')[0]);
    });
    socket.write(`${words.join(' ')}\r\n`);
  });
}

class Node {
  constructor(folder, port, certificates) {
    this.port = port;
    this.url = `redis${certificates ? 's' : ''}://127.0.0.1:${port}`;
    this.folder = folder;
    this.certificates = certificates;
  }

  async start() {
    const doors = !this.certificates ? ['--port', this.port]
      : ['--port', '0', '--tls-port', this.port, '--tls-auth-clients', 'no', '--tls-ca-cert-file', `${this.certificates}/ca.crt`,
        '--tls-cert-file', `${this.certificates}/node.crt`, '--tls-key-file', `${this.certificates}/node.key`];
    this.process = spawn(server, [...doors, '--bind', '127.0.0.1', '--save', '', '--dir', this.folder,
      '--maxmemory-policy', 'noeviction'], { stdio: 'ignore' });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    for (;;) {
      if (this.process.exitCode !== null) throw new Error(`${server} does not start`);
      if (await this.ask('PING').catch(() => '') === '+PONG') return;
    }
  }

  ask(...words) {
    return ask(this.port, this.certificates, ...words);
  }

  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

async function startNodes(count = 3, certificates = undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'redlock-node.'));
  const nodes = [];
  while (nodes.length < count) {
    const node = new Node(folder, await freePort(), certificates);
    await node.start().then(() => nodes.push(node), () => {}); // the port was taken meanwhile
  }
  process.on('exit', () => {
    for (const node of nodes) node.process.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return nodes;
}

const urlsOf = (nodes) => nodes.map((node) => node.url);

// The clients' options: slow answers of a busy machine are no fault.
const options = { guard: 'observed', connectTimeout: 60000, nodeTimeout: 30000 };

// An operation ends with a quorum's answers; its effect on the other nodes may come a moment later.
async function until(condition) {
  for (const end = Date.now() + 60000; !(await condition());) {
    if (Date.now() > end) throw new Error(`not within a minute: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

module.exports = { startNodes, urlsOf, options, until };
