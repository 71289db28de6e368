import { expect, it } from 'vitest'
import { suggestedMessage } from './commit-message.ts'

const long = `Make the parser accept a comment at the end of the last line of a file, even without a line break`

it.each([
  ['Fix the parser', ['a'], 'Fix the parser'],
  [' Fix it\nand more', ['a'], 'Fix it'],
  ['', [], ''],
  ['', ['src/a.ts'], 'Change a.ts'],
  ['', ['src/a.ts', 'b.ts'], 'Change a.ts and b.ts'],
  ['', ['src/a.ts', 'b.ts', 'c.ts'], 'Change a.ts and 2 other files'],
  [long, ['a'], `Make the parser accept a comment at the end of the last line of a…\n\n${long}`],
])('the title %j and the files %j give the message %j', (title, paths, message) => {
  expect(
    suggestedMessage(
      title,
      paths.map((path) => ({ path })),
    ),
  ).toBe(message)
})
