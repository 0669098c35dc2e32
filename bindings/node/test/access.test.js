'use strict';
// Access to nodes: TLS, and a user with a password, which may change.

const { test } = require('node:test');
const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Client } = require('../index.js');
const { startNodes, urlsOf, options: patient } = require('./nodes.js');

const script = join(__dirname, '../../../cluster/certificates.sh');
const withClient = (urls, options, work) => {
  const client = new Client(urls, { ...patient, ...options });
  return work(client).finally(() => client.close());
};
const holds = (client) => client.using('a', { wait: 60000 }, (lock) => assert.ok(lock.isValid));

test('by TLS', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'redlock-node.'));
  for (const words of [['authority', folder], ['make', folder, 'node', 'DNS:locks.example,IP:127.0.0.1']]) {
    const { status, stderr } = spawnSync('sh', [script, ...words], { encoding: 'utf8' });
    assert.strictEqual(status, 0, stderr);
  }
  const nodes = await startNodes(3, folder);
  const urls = urlsOf(nodes);
  const tlsCa = join(folder, 'ca.crt');
  await withClient(urls, { tlsCa }, holds);
  await withClient(urls, { tlsCa, tlsServerName: 'locks.example' }, holds);
  await withClient(urls, { tlsInsecureSkipVerify: true }, holds);
  await withClient(urls, { tlsCa, tlsServerName: 'other.example' }, (client) =>
    assert.rejects(client.ready(), { code: 'ERR_NO_QUORUM', message: /certificate|other\.example/ }));
  await withClient(urls, {}, (client) => assert.rejects(client.ready(), /certificate/));
  assert.throws(() => new Client(urls, { tlsCa: join(folder, 'missing') }), { code: 'ERR_INVALID', message: /missing/ });
  await Promise.all(nodes.map((node) => node.kill()));
  rmSync(folder, { recursive: true });
});

test('as a user whose password changes', async () => {
  const nodes = await startNodes(3);
  const all = (...words) => Promise.all(nodes.map(async (node) => assert.strictEqual(await node.ask(...words), '+OK')));
  await all('ACL', 'SETUSER', 'locks', 'on', '>old', '~*', '&*', '+@all');
  const urls = (password) => nodes.map(({ port }) => `redis://locks:${password}@127.0.0.1:${port}`);
  await withClient(urls('wrong'), {}, (client) => assert.rejects(client.ready(), /WRONGPASS/));
  await withClient(urls('old'), {}, async (client) => {
    await holds(client);
    await all('ACL', 'SETUSER', 'locks', '>new', '<old');
    client.setCredentials('locks', 'new');
    for (const node of nodes) assert.match(await node.ask('CLIENT', 'KILL', 'USER', 'locks'), /^:[1-9]/);
    await holds(client); // with the new password: the old one is no longer valid
    assert.throws(() => client.setCredentials('locks', 5), { code: 'ERR_INVALID', message: /password: not a string/ });
    assert.throws(() => client.setCredentials('two words', ''), { code: 'ERR_INVALID' });
  });
  await withClient(urls('old'), {}, (client) => assert.rejects(client.ready(), /WRONGPASS/));
  const closed = new Client(urls('new'));
  await closed.close();
  assert.throws(() => closed.setCredentials('locks', 'new'), { code: 'ERR_CLOSED' });
  await Promise.all(nodes.map((node) => node.kill()));
});
