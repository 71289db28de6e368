import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createScriptedAdapter } from '../../adapters/scripted/index.ts'
import type { Script } from '../../adapters/scripted/script.ts'
import { createHost } from '../../index.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

const host = await createHost({ adapters: [createScriptedAdapter()], store: createMemoryStore() })
const cwd = await mkdtemp(join(tmpdir(), 'parley-export-'))
const attack = '<script>alert("1")</script><img src=x onerror=alert(1)>'
const fence = 'a\n```\nb\n`````\nc'

const script: Script = [
  { type: 'thinking', text: `thinking </details> ${attack}` },
  { type: 'text', text: `Look:\n\n\`\`\`ts\nconst a: Array<string>\n${attack}` },
  {
    type: 'tool',
    name: 'Bash',
    kind: 'execute',
    title: `run "${attack}"`,
    input: { command: `${attack}\n${fence}` },
    content: [{ type: 'terminal', output: `${fence}\n${attack}`, exitCode: 3 }],
  },
  {
    type: 'tool',
    name: 'Edit',
    kind: 'edit',
    title: 'edit',
    input: {},
    content: [{ type: 'diff', path: `${attack}.ts`, before: 'old </pre>\n', after: `new ${attack}\n` }],
  },
  {
    type: 'tool',
    name: 'See',
    title: 'see',
    content: [
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
      { type: 'image', mimeType: 'image/svg+xml"><script>', data: '"><script>' },
    ],
  },
  { type: 'notice', level: 'warning', code: attack, text: attack },
  { type: 'unrecognised', native: { html: attack } },
  { type: 'end', outcome: 'failed', error: { code: 'agent_failed', message: attack } },
]

let server: ServerUnderTest
let session: string
beforeAll(async () => {
  server = await serverUnderTest(host)
  const title = `A "title"\\ ../../etc; ${attack}`
  const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, title } })
  session = made.body.id as string
  const followed = await server.follow(session)
  const submit = { commandId: 'go', type: 'prompt.submit', text: JSON.stringify(script) }
  expect((await server.ask(`/api/sessions/${session}/commands`, { body: submit })).status).toBe(202)
  await followed.until((frame) => frame.data.type === 'turn.ended')
  followed.leave()
})
afterAll(async () => {
  await server.close()
  await host.close()
})

const exported = (as: string) => server.ask(`/api/sessions/${session}/export?as=${as}`)

describe('an export', () => {
  it('is the log, one event per line', async () => {
    const { text, headers } = await exported('jsonl')
    const page = await server.ask(`/api/sessions/${session}/events?limit=5000`)
    expect(text.endsWith('\n')).toBe(true)
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(page.body.events)
    expect(headers['content-type']).toBe('application/jsonl; charset=UTF-8')
  })

  it('has a file name that is safe in headers and file systems', async () => {
    for (const [as, extension] of [
      ['jsonl', 'jsonl'],
      ['markdown', 'md'],
      ['html', 'html'],
    ] as const) {
      const { headers } = await exported(as)
      expect(headers['content-disposition']).toMatch(
        new RegExp(`^(attachment|inline); filename="a-title-etc-script-[\\w-]+\\.${extension}"$`),
      )
    }
  })

  it('as HTML escapes all content and runs no script', async () => {
    const { text, headers } = await exported('html')
    expect(headers['content-type']).toBe('text/html; charset=UTF-8')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-.*; sandbox$/)
    expect(text).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;/)
    expect(text).not.toMatch(/<script/i)
    const tags = new Set([...text.matchAll(/<([a-z!][a-z0-9]*)/gi)].map(([, tag]) => tag?.toLowerCase()))
    for (const tag of ['script', 'iframe', 'object', 'form', 'svg', 'a']) expect(tags).not.toContain(tag)
    expect([...text.matchAll(/<img [^>]*>/g)].map(([tag]) => tag)).toEqual([
      '<img alt="" src="data:image/png;base64,iVBORw0KGgo=">',
    ])
    expect(text.split('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;').length).toBeGreaterThan(8)
    expect(text).toContain('<del>-old &lt;/pre&gt;\n</del>')
    expect(text).toContain('prefers-color-scheme: dark')
  })

  it.each([
    // The text with hidden characters is in five places: the title of the session, the title of a call, the
    // input of that call, the path of a change, and a changed line. In HTML, the title of the session is also
    // the page's title.
    ['html', 6],
    ['markdown', 5],
  ])('as %s makes hidden characters visible in the requests of an agent', async (as, count) => {
    const odd = 'a\u202eb'
    const edit = { path: odd, before: 'old\r\n', after: `${odd}\r\n` }
    const asked: Script = [
      { type: 'tool', name: 'Bash', kind: 'execute', title: odd, input: { command: odd } },
      {
        type: 'tool',
        name: 'Edit',
        kind: 'edit',
        title: 'edit',
        input: {},
        content: [{ type: 'diff', ...edit }],
      },
    ]
    const made = await server.ask('/api/sessions', { body: { agent: 'scripted', cwd, title: odd } })
    const id = made.body.id as string
    const followed = await server.follow(id)
    const submit = { commandId: 'go', type: 'prompt.submit', text: JSON.stringify(asked) }
    await server.ask(`/api/sessions/${id}/commands`, { body: submit })
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()
    const { text } = await server.ask(`/api/sessions/${id}/export?as=${as}`)
    expect(text.match(/a\\+u\{202e\}b/g)).toHaveLength(count)
  })

  it('as Markdown is well-formed for any content', async () => {
    const { text } = await exported('markdown')
    expect(text).toMatch(/^# A "title"/)
    expect(text).toContain('<details>\n<summary>Thinking</summary>\n\n> thinking &lt;/details> &lt;script>')
    expect(text).toContain('``````console\na\n```\nb\n`````\nc\n')
    expect(text).toContain('*ended with 3*')
    expect(text).toContain('-old </pre>\n+new ')
    expect(text).toContain('Turn failed')
    const openings = text.match(/^<details>$/gm)?.length
    expect(text.match(/^<\/details>$/gm)?.length).toBe(openings)
    expect(unfenced(text)).not.toMatch(/(?<!\\)<(?!\/?(details|summary)>)[a-z/!]/i)
  })

  it('contains permissions, questions and answers', async () => {
    const ask: Script = [
      { type: 'permission', name: 'Bash', kind: 'execute', title: 'rm -rf /', input: { command: 'rm' } },
      {
        type: 'question',
        questions: [
          {
            id: 'q',
            header: 'Colour',
            text: 'Which?',
            options: [{ label: 'Red' }, { label: 'Blue' }],
            multiple: false,
            freeText: false,
          },
        ],
      },
    ]
    const made = await server.ask('/api/sessions', {
      body: { agent: 'scripted', cwd, prompt: JSON.stringify(ask) },
    })
    const path = `/api/sessions/${made.body.id}`
    const followed = await server.follow(made.body.id as string)
    const permission = await followed.until((frame) => frame.data.type === 'permission.requested')
    expect((await server.ask(`${path}/export?as=markdown`)).text).toContain('not answered yet')
    const { requests } = (await server.ask('/api/permissions')).body as {
      requests: { request: { requestId: string } }[]
    }
    expect(requests.map(({ request }) => request.requestId)).toEqual([permission.data.requestId])
    const denial = {
      commandId: 'deny',
      type: 'permission.decide',
      requestId: permission.data.requestId,
      decision: 'deny',
      message: 'Not *that*',
    }
    expect((await server.ask(`${path}/commands`, { body: denial })).status).toBe(202)
    const late = await server.ask(`${path}/commands`, { body: { ...denial, commandId: 'late' } })
    expect([late.status, (late.body.error as { code: string }).code]).toEqual([409, 'conflict'])
    const question = await followed.until((frame) => frame.data.type === 'question.asked')
    const answer = {
      commandId: 'answer',
      type: 'question.answer',
      requestId: question.data.requestId,
      answers: { q: 'Blue' },
    }
    expect((await server.ask(`${path}/commands`, { body: answer })).status).toBe(202)
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()

    const markdown = (await server.ask(`${path}/export?as=markdown`)).text
    expect(markdown).toContain('**Permission** for Bash, rm -rf /: **denied by owner (this machine)**')
    expect(markdown).toContain('> Not *that*')
    expect(markdown).toContain('Answer by owner (this machine): **Blue**')
    const page = (await server.ask(`${path}/export?as=html`)).text
    expect(page).toContain('<span class="bad">denied by owner (this machine)</span>')
    expect(page).toContain('Answer by owner (this machine): <strong>Blue</strong>')
  })

  it('as HTML shows a permission with its call, a change once, and Markdown rendered', async () => {
    const diff = { path: 'a.ts', before: 'old\n', after: 'new\n' }
    const edit: Script = [
      { type: 'text', text: '## Plan\n\n- **one**\n- `two`' },
      {
        type: 'permission',
        name: 'Edit',
        kind: 'edit',
        title: 'a.ts',
        input: {},
        diffs: [diff],
        content: [{ type: 'diff', ...diff }],
      },
    ]
    const made = await server.ask('/api/sessions', {
      body: { agent: 'scripted', cwd, prompt: JSON.stringify(edit) },
    })
    const followed = await server.follow(made.body.id as string)
    const { data } = await followed.until((frame) => frame.data.type === 'permission.requested')
    const allow = { commandId: 'ok', type: 'permission.decide', requestId: data.requestId, decision: 'allow' }
    await server.ask(`/api/sessions/${made.body.id}/commands`, { body: allow })
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()
    const page = (await server.ask(`/api/sessions/${made.body.id}/export?as=html`)).text
    expect(page).toContain('<h3>Plan</h3><ul><li><strong>one</strong></li><li><code>two</code></li></ul>')
    expect(page.match(/<ins>\+new/g)).toHaveLength(1)
    expect(page.indexOf('allowed by a person')).toBeLessThan(page.indexOf('<ins>'))
    expect(page.match(/Permission/g)).toHaveLength(1)
  })

  it.each([
    ['ui-messages', 'assistant', { role: 'assistant', metadata: { outcome: 'failed' } }],
    ['incoming-messages', 'agent_text', { type: 'system', level: 'error' }],
    ['run-events', 'run_started', { type: 'run_failed' }],
  ])('for another program is one list: %s', async (as, word, last) => {
    const { text, headers } = await exported(as)
    expect(headers['content-type']).toBe('application/json; charset=UTF-8')
    expect(headers['content-disposition']).toMatch(
      new RegExp(`^attachment; filename="[\\w-]+\\.${as}\\.json"$`),
    )
    const list: unknown[] = JSON.parse(text)
    expect(list.at(-1)).toMatchObject(last)
    expect(text).toContain(`"${word}"`)
  })

  it('shows problems as text, without the codes for programs', async () => {
    const error = { code: 'agent_failed', message: 'The model is away.' } as const
    const trouble: Script = [
      { type: 'notice', level: 'warning', code: 'retry_soon', text: 'Trying again.' },
      { type: 'end', outcome: 'failed', stopReason: 'no_model', error },
    ]
    const made = await server.ask('/api/sessions', {
      body: { agent: 'scripted', cwd, title: 'Trouble', prompt: JSON.stringify(trouble) },
    })
    const followed = await server.follow(made.body.id as string)
    await followed.until((frame) => frame.data.type === 'turn.ended')
    followed.leave()
    const as = (format: string) => server.ask(`/api/sessions/${made.body.id}/export?as=${format}`)
    for (const format of ['markdown', 'html']) {
      // The prompt is the script itself, which contains the codes, so it is removed before the check.
      const text = (await as(format)).text.replace(/^> .*$/gm, '').replace(/<section class="prompt">.*/g, '')
      expect(text).toContain('Warning: Trying again.')
      expect(text).toContain('The model is away.')
      expect(text).toMatch(/Turn failed: \d/)
      expect(text).not.toMatch(/retry_soon|agent_failed|no_model/)
    }
    expect((await as('jsonl')).text).toContain('"retry_soon"')
  })

  it('answers HEAD without the file', async () => {
    const answer = await server.ask(`/api/sessions/${session}/export`, { method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
    expect(answer.headers['content-disposition']).toContain('.jsonl')
  })
})

/** The text outside of code, where a tag would take effect. */
function unfenced(text: string): string {
  let fence: string | undefined
  const lines = text.split('\n').filter((line) => {
    const run = /^(> )?(`{3,})/.exec(line)?.[2]
    if (fence === undefined) {
      fence = run
      return run === undefined
    }
    if (run && run.length >= fence.length && line.trim() === run) fence = undefined
    return false
  })
  return lines.join('\n').replace(/(`+)[^`].*?\1/g, '')
}
