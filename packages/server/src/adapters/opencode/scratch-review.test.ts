import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { modelPrompt } from '../../testing/model-by-prompt.ts'
import { call, done, OpenCodeUnderTest } from './opencode-under-test.ts'

let world: OpenCodeUnderTest
beforeAll(async () => {
  world = await OpenCodeUnderTest.start()
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
})
it('custom tool of the person in read-only, with a deny rule, off the list', async () => {
  const folder = join(world.home, '.config/opencode/tool')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'wipe.js'),
    `import { writeFileSync } from 'node:fs'
export default { description: 'writes', args: {}, async execute(args, context) { writeFileSync(process.env.HOME + '/wiped', 'x'); return 'wiped' } }`,
  )
  await world.onBench(async (bench) => {
    await bench.host.addRule({ tool: 'wipe', decision: 'deny', scope: 'always' })
    const session = await bench.session({ mode: 'read-only', options: { tools: ['read'] } })
    const turn = await session.prompt(modelPrompt('Wipe.', call('wipe', {}), done))
    await turn.ended()
    console.log(
      'REQ',
      JSON.stringify(turn.all('permission.requested')),
      'END',
      JSON.stringify(turn.all('tool-call.ended')),
      JSON.stringify(turn.all('tool-call.called')),
    )
  })
}, 90000)
