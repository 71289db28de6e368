import { type MessagePort, workerData } from 'node:worker_threads'
import { pageEnd } from './port-under-test.ts'
import { createPreload } from './preload.ts'

/** A page in a separate thread, which loads only the preload script. It reports all messages at the end of the turn. */
const { port, cwd, prompt } = workerData as { port: MessagePort; cwd: string; prompt: string }
const agent = createPreload(pageEnd(port))
const received: unknown[] = []
agent.onMessage(({ taskId, message }) => {
  received.push(message)
  if (message.type === 'permission_request') {
    void agent.respondToPermission(taskId, message.id, message.options[0] as { label: string })
  }
  if (message.type === 'turn_ended') port.postMessage({ type: 'done', received })
})
await agent.connect('task', { type: 'scripted', payload: { cwd } })
await agent.send('task', prompt)
