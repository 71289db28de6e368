import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { routes } from './api.ts'
import { NewRule, NewSession, SessionPatch } from './api-bodies.ts'

const reads = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success
const notWhole = ['', ' ', '-1', '+1', '1e3', '1.5', '0x10', 'ten', ' 5', '5 ', '5\n', '9'.repeat(16), '٣']

describe('the routes', () => {
  it('each have a unique method and path', () => {
    const places = Object.values(routes).map(({ method, path }) => `${method} ${path}`)
    expect(new Set(places).size).toBe(places.length)
  })

  it('are exactly the routes of the design', () => {
    const places = Object.values(routes).map(({ method, path }) => `${method} ${path}`)
    expect(places).toEqual(
      expect.arrayContaining([
        'GET /api/health',
        'GET /api/agents',
        'POST /api/sessions',
        'GET /api/sessions',
        'GET /api/sessions/:id',
        'PATCH /api/sessions/:id',
        'DELETE /api/sessions/:id',
        'POST /api/sessions/:id/commands',
        'GET /api/sessions/:id/events',
        'GET /api/sessions/:id/export',
        'GET /api/permissions',
        'POST /api/chat',
        'GET /api/chat/:id/stream',
        'POST /api/chat/:id/stop',
        'GET /api/chat/:id/messages',
        'GET /api/openapi.json',
      ]),
    )
  })

  it('need no token for health, for signing a browser in, for downloads by code, and for links that decide a request', () => {
    const open = Object.entries(routes).filter(([, route]) => route.scope === 'open')
    expect(open.map(([name]) => name)).toEqual([
      'health',
      'showLinkedRequest',
      'decideByLink',
      'createDevice',
      'getSignIn',
      'startOidc',
      'finishOidc',
      'createNonce',
      'createAccessToken',
      'download',
    ])
  })
})

describe('the query of events', () => {
  const { query } = routes.events

  it('defaults to a limit and no cursor', () => {
    expect(query.parse({})).toStrictEqual({ limit: 500 })
  })

  it('parses numbers', () => {
    expect(query.parse({ after: '0', before: '17', limit: '5000', epoch: 'e' })).toStrictEqual({
      after: 0,
      before: 17,
      limit: 5000,
      epoch: 'e',
    })
  })

  it.each(notWhole)('refuses %j as a number', (text) => {
    expect(reads(query, { after: text })).toBe(false)
    expect(reads(query, { before: text })).toBe(false)
    expect(reads(query, { limit: text })).toBe(false)
  })

  it.each(['0', '5001'])('refuses the limit %s', (limit) => {
    expect(reads(query, { limit })).toBe(false)
  })
})

describe('the query of sessions', () => {
  const { query } = routes.listSessions

  it('leaves out archived sessions and defaults to a limit of fifty', () => {
    expect(query.parse({})).toStrictEqual({ archived: 'false', limit: 50 })
  })

  it.each([
    ['limit', '0'],
    ['limit', '501'],
    ['limit', '-1'],
    ['archived', 'yes'],
    ['status', 'sleeping'],
    ['agent', ''],
  ])('refuses %s=%s', (name, value) => {
    expect(reads(query, { [name]: value })).toBe(false)
  })
})

describe('the query of a session', () => {
  const { query } = routes.getSession

  it.each([
    [undefined, 50],
    ['0', 0],
    ['500', 500],
  ])('reads the tail %s as %i', (tail, read) => {
    expect(query.parse(tail === undefined ? {} : { tail })).toStrictEqual({ tail: read })
  })

  it.each([...notWhole, '501'])('refuses the tail %j', (tail) => {
    expect(reads(query, { tail })).toBe(false)
  })
})

describe('the query of an export', () => {
  it('defaults to JSON lines', () => {
    expect(routes.exportSession.query.parse({})).toEqual({ as: 'jsonl', proof: 'false' })
    expect(reads(routes.exportSession.query, { as: 'pdf' })).toBe(false)
  })
})

describe('a new session', () => {
  const least = { agent: 'demo', cwd: '/somewhere' }

  it('needs no folder if it continues another session', () => {
    const from = { sessionId: 'ses_1' }
    expect(NewSession.parse({ agent: 'demo', from, context: 'What happened.' })).toBeDefined()
    expect(reads(NewSession, { ...least, context: 'What happened.' })).toBe(false)
  })

  it.each([
    ['no agent', { cwd: '/somewhere' }],
    ['no folder', { agent: 'demo' }],
    ['an empty folder', { ...least, cwd: '' }],
    ['a trust that is not a boolean', { ...least, trust: 'yes' }],
    ['an unknown mode', { ...least, mode: 'yolo' }],
    ['an unknown field', { ...least, colour: 'red' }],
    ['an unknown option', { ...least, options: { temperature: 1 } }],
    ['an empty prompt', { ...least, prompt: '' }],
    ['a blank prompt', { ...least, prompt: '  ' }],
    ['a title that is too long', { ...least, title: 'x'.repeat(201) }],
    ['an MCP server without a command', { ...least, mcpServers: { files: { args: [] } } }],
    [
      'an MCP server with an invalid URL',
      { ...least, mcpServers: { files: { type: 'http', url: 'there' } } },
    ],
  ])('is refused with %s', (_, body) => {
    expect(reads(NewSession, body)).toBe(false)
  })
})

describe('trust of a folder', () => {
  it.each([{}, { folder: '' }, { folder: 7 }, { folder: '/somewhere', trustedAt: 1 }])(
    'is neither granted nor revoked with %j',
    (given) => {
      expect(reads(routes.trustFolder.body, given)).toBe(false)
      expect(reads(routes.distrustFolder.query, given)).toBe(false)
    },
  )
})

describe('a patch of a session', () => {
  it('trims the title', () => {
    expect(SessionPatch.parse({ title: ' Tidy ' })).toEqual({ title: 'Tidy' })
  })

  it.each([{ title: ' ' }, { title: 'x'.repeat(201) }, { archived: 'yes' }, { colour: 'red' }])(
    'is refused as %j',
    (body) => {
      expect(reads(SessionPatch, body)).toBe(false)
    },
  )
})

describe('a new rule', () => {
  const rule = { tool: 'Bash', decision: 'allow' }

  it.each([
    [{ ...rule, scope: 'always' }, true],
    [{ ...rule, scope: 'always', match: { command: 'npm *' }, agent: 'demo' }, true],
    [{ ...rule, scope: 'session', sessionId: 's' }, true],
    [{ ...rule, scope: 'project', project: '/somewhere' }, true],
    [{ ...rule, scope: 'session' }, false],
    [{ ...rule, scope: 'project' }, false],
    [{ ...rule, scope: 'once' }, false],
    [{ ...rule, scope: 'always', tool: '' }, false],
    [{ ...rule, scope: 'always', decision: 'maybe' }, false],
    [{ ...rule, scope: 'always', match: { command: 5 } }, false],
    [{ ...rule, scope: 'always', ruleId: 'mine' }, false],
    [{ ...rule, scope: 'always', match: JSON.parse('{"__proto__":"x"}') }, false],
    [{ ...rule, scope: 'always', match: JSON.parse('{"command":"ls","__proto__":"x"}') }, false],
    [{ ...rule, scope: 'always', exact: { n: 1 }, any: ['x'], outside: true, protected: true }, true],
    [{ ...rule, scope: 'always', exact: JSON.parse('{"__proto__":1}') }, false],
    [{ ...rule, scope: 'always', decision: 'deny', exact: { n: 1 } }, true],
    [{ ...rule, scope: 'always', decision: 'deny', outside: true }, false],
    [{ ...rule, scope: 'always', decision: 'ask', protected: true }, false],
    [{ ...rule, scope: 'always', tool: 'x'.repeat(501) }, false],
    [{ ...rule, scope: 'always', match: { command: 'x'.repeat(10_001) } }, false],
    [
      {
        ...rule,
        scope: 'always',
        match: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, 'x'])),
      },
      false,
    ],
  ])('%j is accepted: %s', (body, taken) => {
    expect(reads(NewRule, body)).toBe(taken)
  })
})
