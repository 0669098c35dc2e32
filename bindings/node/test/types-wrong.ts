import { Client, Lock } from '../index.js';

export async function wrong(client: Client): Promise<void> {
  new Client('redis://a');
  await client.acquire('a', { tll: 5 });
  const fence: number = (await client.acquire('a')).fence;
  console.log(fence);
  new Lock();
}
