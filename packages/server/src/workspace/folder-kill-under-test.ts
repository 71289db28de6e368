import { writeSync } from 'node:fs'
import { createSessionFolder } from './session-folder.ts'

/** A program that takes snapshots and moves a folder between two of them, again and again until it is killed. */
const [root = '', folder = '', one = '', two = ''] = process.argv.slice(2)
const { snapshot, move } = createSessionFolder({ env: process.env, root })
for (let round = 0; ; round++) {
  const [from, to] = round % 2 === 0 ? [two, one] : [one, two]
  writeSync(1, `to ${to === one ? 'one' : 'two'}\n`)
  await move(folder, { sessionId: 'ses_1', from, to, again: true })
  await snapshot(folder, { sessionId: 'ses_1' })
  if (round % 2 === 1) writeSync(1, 'again\n')
}
