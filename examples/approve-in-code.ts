import { isKnown } from '@parley/protocol'
import { builtInAdapters, createHost, createMemoryStore } from '@parley/server'

/**
 * A program that answers permissions: a rule denies one command, code decides the rest.
 * node examples/approve-in-code.ts [agent] [prompt]
 */
const [agent = 'demo', prompt = 'run things in parallel'] = process.argv.slice(2)

const host = await createHost({
  adapters: builtInAdapters({ env: process.env }),
  store: createMemoryStore(),
})

await host.addRule({
  tool: 'Bash',
  match: { command: 'git push*' },
  decision: 'deny',
  scope: 'project',
  project: process.cwd(),
})

const { id } = await host.create({ agent, cwd: process.cwd(), mode: 'ask', prompt })

for await (const event of host.events(id)) {
  if (!isKnown(event)) continue
  if (event.type === 'permission.requested') {
    const { requestId, tool, title, input } = event
    const allowed = isHarmless(tool, input)
    console.log(`${allowed ? 'allowed' : 'denied'}: ${tool} (${title})`)
    await host.command(id, {
      type: 'permission.decide',
      commandId: crypto.randomUUID(),
      requestId,
      decision: allowed ? 'allow' : 'deny',
      ...(!allowed && { message: 'This program allows only checks of the code.' }),
    })
  }
  if (event.type === 'text.written') console.log(event.text)
  if (event.type === 'turn.ended') break
}

await host.close()

function isHarmless(tool: string, input: unknown): boolean {
  const command = (input as { command?: string } | null)?.command ?? ''
  return tool === 'Bash' && /^npm (test|run lint)$/.test(command)
}
