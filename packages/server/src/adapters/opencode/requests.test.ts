import { createOpencodeClient } from '@opencode-ai/sdk/v2/client'
import type { PermissionAnswer } from '@parley/adapter-kit'
import { beforeEach, expect, it, vi } from 'vitest'
import { Requests } from './requests.ts'

/** The requests by which OpenCode received answers: the path and the reply of each. */
let answers: string[]
let stopping: boolean
let leftOpen: number
let answer: PermissionAnswer
let requests: Requests
const cancelled = { outcome: 'cancelled', requestId: 'r' } as const

beforeEach(() => {
  answers = []
  stopping = false
  leftOpen = 0
  answer = cancelled
  const client = createOpencodeClient({
    baseUrl: 'http://opencode.invalid',
    fetch: async (request) => {
      const { url, body } = request as Request
      const { reply } = body ? ((await (request as Request).json()) as { reply?: string }) : {}
      answers.push([new URL(url).pathname, reply].join(' ').trim())
      return Response.json(true)
    },
  })
  requests = new Requests({
    person: { forbids: () => false, permit: async () => answer, answer: async () => cancelled },
    session: { cwd: '/somewhere', settings: {} },
    client,
    agents: [],
    denied: () => undefined,
    endTurn: () => undefined,
    hasTurn: () => true,
    isOver: () => {
      leftOpen += Number(stopping)
      return stopping
    },
    problem: (what, error) => {
      throw new Error(`${what}: ${error}`)
    },
  })
})

const permission = (id: string) =>
  requests.take('permission.asked', {
    id,
    sessionID: 'ses_1',
    permission: 'doom_loop',
    patterns: [],
    metadata: {},
    always: [],
  })
const question = (id: string) => requests.take('question.asked', { id, sessionID: 'ses_1', questions: [] })

it('rejects requests that came while the last turn was being stopped, so that nothing waits behind them', async () => {
  stopping = true
  await requests.refuseAll()
  permission('late')
  question('late')
  await vi.waitFor(() => expect(leftOpen).toBe(2))
  expect(answers).toEqual([])

  const cleared = requests.clear()
  stopping = false
  await cleared
  expect(answers.toSorted()).toEqual(['/permission/late/reply reject', '/question/late/reject'])

  answer = { outcome: 'denied', requestId: 'r' }
  permission('next')
  await vi.waitFor(() => expect(answers.slice(2)).toEqual(['/permission/next/reply reject']))
})
