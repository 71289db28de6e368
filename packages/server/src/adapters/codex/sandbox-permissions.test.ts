import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { sandboxPermissionsOf } from './sandbox-permissions.ts'

const home = folderForFile()
const transcript = join(home, 'rollout.jsonl')

const line = (payload: object, type = 'response_item') => JSON.stringify({ type, payload })
const called = (given: unknown, call_id = 'call') =>
  line({ type: 'function_call', call_id, arguments: JSON.stringify(given) })

async function permissionsFor(...lines: string[]): Promise<string> {
  writeFileSync(transcript, `${lines.join('\n')}\n`)
  return sandboxPermissionsOf({
    session_id: 'root',
    tool_name: 'Bash',
    tool_input: {},
    tool_use_id: 'call',
    transcript_path: transcript,
  })
}

it.each([
  [{ cmd: 'make' }, 'use_default'],
  [{ cmd: 'make', sandbox_permissions: 'use_default' }, 'use_default'],
  [{ cmd: 'make', sandbox_permissions: 'require_escalated' }, 'require_escalated'],
  [{ cmd: 'make', sandbox_permissions: 'of a later version' }, 'of a later version'],
  [{ cmd: 'make', sandbox_permissions: { a: 1 } }, 'unknown'],
  [{ cmd: 'make', with_escalated_permissions: true }, 'require_escalated'],
])('a call with %j asks for %s', async (given, expected) => {
  expect(await permissionsFor(called(given))).toBe(expected)
})

it('reads only the call itself, however much was written after it', async () => {
  const escalated = called({ sandbox_permissions: 'require_escalated' })
  const quoted = line({ type: 'message', content: [{ text: called({ cmd: 'make' }) }] })
  const noise = line({ type: 'function_call_output', call_id: 'other', output: 'x'.repeat(1_000_000) })
  expect(await permissionsFor(called({}, 'other'), escalated, quoted, called({}, 'another'), noise)).toBe(
    'require_escalated',
  )
})

it('reports unknown for a call that is not found or cannot be parsed', async () => {
  expect(await permissionsFor(called({}, 'other'))).toBe('unknown')
  expect(await permissionsFor(line({ type: 'function_call', call_id: 'call', arguments: 'make' }))).toBe(
    'unknown',
  )
  expect(await permissionsFor(line({ type: 'custom_tool_call', call_id: 'call', input: 'make' }))).toBe(
    'unknown',
  )
  const call = { session_id: 'root', tool_name: 'Bash', tool_input: {}, tool_use_id: 'call' }
  expect(await sandboxPermissionsOf(call)).toBe('unknown')
  expect(await sandboxPermissionsOf({ ...call, transcript_path: join(home, 'none') })).toBe('unknown')
})

it('no text of a model makes a call that leaves its sandbox look like a sandboxed call', async () => {
  const words = fc.oneof(fc.string(), fc.constantFrom('require_escalated', 'with_additional_permissions'))
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string(), fc.json()),
      words,
      fc.string(),
      async (given, asked, text) => {
        fc.pre(asked !== 'use_default')
        const output = line({
          type: 'function_call_output',
          call_id: 'call',
          output: `${text}\n${called({})}`,
        })
        expect(await permissionsFor(called({ ...given, sandbox_permissions: asked }), output)).not.toBe(
          'use_default',
        )
      },
    ),
  )
})
