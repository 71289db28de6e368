import { connectInput, promptMessage, readTurn } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { createDemoAdapter } from './demo.ts'
import { scenes } from './demo-scenes.ts'
import { demoScript } from './demo-script.ts'
import type { Sleep } from './gates.ts'

describe('the demo agent', () => {
  const sleep: Sleep = async () => undefined

  it.each(scenes.map((scene) => [scene.name, scene] as const))(
    'plays %s to its end',
    async (_name, scene) => {
      for (const words of [scene.words[0] ?? '', `/${scene.name}`])
        expect(demoScript(words)).toBe(scene.script)
      const connection = await createDemoAdapter({ sleep }).connect(connectInput())
      await connection.send(promptMessage(scene.words[0] ?? ''))
      const reading = readTurn(connection)
      if (scene.stops === 'when-stopped') await connection.interrupt()
      const last = (await reading).at(-1)
      expect(last?.type).toBe(scene.stops === 'by-crashing' ? 'agent.disconnected' : 'turn.ended')
    },
  )

  it('plays everything in one turn', async () => {
    const connection = await createDemoAdapter({ sleep }).connect(connectInput())
    await connection.send(promptMessage('show me everything'))
    expect((await readTurn(connection)).at(-1)).toMatchObject({ outcome: 'completed' })
  })

  it('answers any other prompt with a list of its scenes', async () => {
    const [answer] = demoScript('good morning')
    const text = answer?.type === 'text' ? answer.text : ''
    expect(text).toContain('good morning')
    for (const scene of scenes) expect(text).toContain(scene.shows)
  })

  it('has no effect on files', () => {
    expect(JSON.stringify(scenes)).not.toContain('"effect"')
  })
})
