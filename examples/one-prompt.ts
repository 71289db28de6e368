import { builtInAdapters, createHost, createMemoryStore } from '@parley/server'

/** Sends one prompt and prints its answer. node examples/one-prompt.ts [agent] [prompt] */
const [agent = 'demo', prompt = 'Say hello'] = process.argv.slice(2)

const host = await createHost({
  adapters: builtInAdapters({ env: process.env }),
  store: createMemoryStore(),
})

const { id } = await host.create({ agent, cwd: process.cwd(), mode: 'read-only', prompt })

for await (const event of host.events(id)) {
  if (event.type === 'text.written') console.log(event.text)
  if (event.type === 'turn.ended') {
    console.log(`\n(${event.outcome})`)
    break
  }
}

await host.close()
