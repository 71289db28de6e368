import type { AgentCommand } from '@parley/protocol'
import { scenes } from './demo-scenes.ts'
import type { Scene } from './demo-scenes-asking.ts'
import type { Script } from './script.ts'

export const demoCommands: readonly AgentCommand[] = [
  ...scenes.map(({ name, shows }) => ({ name, description: `The demo ${shows}` })),
  { name: 'everything', description: 'Most of these scenes, one after another' },
  { name: 'help', description: 'What the demo can show' },
]

/** The answer to a request for a commit message. */
const message =
  'Show what a commit message looks like\n\nThe demo agent suggests the same message for every commit.'

export function demoScript(text: string): Script {
  const words = text.toLowerCase()
  if (text.startsWith('Write the message for a git commit')) return [{ type: 'text', text: message }]
  if (mentions(words, 'everything')) return everything()
  if (mentions(words, 'help')) return [{ type: 'text', text: help(), pieces: 12 }]
  const scene = scenes.find((row) => row.words.some((word) => mentions(words, word)))
  return scene?.script ?? [{ type: 'text', text: `You said: ${text}\n\n${help()}`, pieces: 12 }]
}

/** Matches at the start of a word, so that `plan` occurs in "plans" but not in "explanation". */
function mentions(text: string, word: string): boolean {
  return new RegExp(`\\b${word}`).test(text)
}

/**
 * A script that plays all scenes after each other, each below its name. Scenes that end the turn or do not end by
 * themselves are left out, and so is `flood`.
 */
function everything(): Script {
  const whole = scenes.filter(
    (scene) => !scene.stops && scene.name !== 'flood' && !scene.script.some((step) => step.type === 'end'),
  )
  return whole.flatMap((scene): Script => [{ type: 'text', text: `**${scene.name}**` }, ...scene.script])
}

function help(): string {
  const rows = scenes.map((scene) => `- **${example(scene)}**: ${scene.shows}`)
  return [
    'I am the demo agent. I follow a script, so nothing I show is real. Say one of these:',
    '',
    ...rows,
    '- **everything**: most of these scenes, one after another',
  ].join('\n')
}

function example(scene: Scene): string {
  return scene.words[0] ?? scene.name
}
