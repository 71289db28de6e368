import { useChat } from 'ai-react7'
import {
  DefaultChatTransport,
  type DynamicToolUIPart,
  lastAssistantMessageIsCompleteWithToolCalls as isAnswered,
  lastAssistantMessageIsCompleteWithApprovalResponses as isDecided,
  type UIMessage,
} from 'ai7'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

/**
 * A page written as docs/chat.md describes, with React and the AI SDK and without any code of Parley. Its URL
 * contains the address that it connects to. It is built with version 6 and with version 7: `ai` and `@ai-sdk/react`
 * are aliases here.
 */
const {
  api = '/api/chat',
  sdk = '6',
  id = '',
  token,
  ...body
} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
const access: { headers: Record<string, string> } = {
  headers: token ? { authorization: `Bearer ${token}` } : {},
}
const transport = new DefaultChatTransport({ api: `${api}?sdk=${sdk}`, body, ...access })
const chatApi = `${api}/${encodeURIComponent(id)}`

const root = createRoot(document.getElementById('root') as HTMLElement)
root.render(<Chat messages={await messagesSoFar()} />)

async function messagesSoFar(): Promise<UIMessage[]> {
  return (await fetch(`${chatApi}/messages`, access)).json()
}

function Chat({ messages }: { messages: UIMessage[] }) {
  const [words, setWords] = useState('')
  const chat = useChat({
    id,
    messages,
    transport,
    resume: true,
    sendAutomaticallyWhen: (state) => isDecided(state) || isAnswered(state),
  })
  return (
    <main>
      <output>{chat.status}</output>
      {chat.error && <p role="alert">{chat.error.message}</p>}
      {chat.messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          {message.parts.map((part, index) => {
            const key = `${message.id} ${index}`
            if (part.type === 'text') return <p key={key}>{part.text}</p>
            if (part.type === 'reasoning') return <em key={key}>{part.text}</em>
            return part.type === 'dynamic-tool' ? <Tool key={key} part={part} chat={chat} /> : null
          })}
        </article>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void chat.sendMessage({ text: words })
          setWords('')
        }}
      >
        <textarea aria-label="Message" value={words} onChange={(event) => setWords(event.target.value)} />
        <button type="submit">Send</button>
      </form>
      <button type="button" onClick={() => fetch(`${chatApi}/stop`, { method: 'POST', ...access })}>
        Stop
      </button>
      <button
        type="button"
        onClick={async () => {
          chat.setMessages(await messagesSoFar())
          await chat.resumeStream()
        }}
      >
        Refresh
      </button>
      <pre hidden>{JSON.stringify(chat.messages)}</pre>
    </main>
  )
}

type Answering = Pick<ReturnType<typeof useChat>, 'addToolApprovalResponse' | 'addToolOutput'>

function Tool({ part, chat }: { part: DynamicToolUIPart; chat: Answering }) {
  const { toolCallId, toolName, title, state, approval } = part
  const decide = (approved: boolean) => {
    const reason = approved ? {} : { reason: 'Not in this folder.' }
    void chat.addToolApprovalResponse({ id: approval?.id ?? '', approved, ...reason })
  }
  const isQuestion = toolName === 'question' && state === 'input-available'
  const { questions } = (isQuestion ? part.input : { questions: [] }) as { questions: Question[] }
  return (
    <section aria-label={toolName}>
      <code>{title ?? JSON.stringify(part.input)}</code> <b>{state}</b>
      {state === 'output-available' && <samp>{JSON.stringify(part.output)}</samp>}
      {state === 'approval-requested' && (
        <>
          <button type="button" onClick={() => decide(true)}>
            Approve
          </button>
          <button type="button" onClick={() => decide(false)}>
            Deny
          </button>
        </>
      )}
      {questions.flatMap(({ options }) =>
        options.map(({ label }) => (
          <button
            type="button"
            key={label}
            onClick={() => void chat.addToolOutput({ tool: 'question', toolCallId, output: label })}
          >
            {label}
          </button>
        )),
      )}
    </section>
  )
}

type Question = { readonly options: readonly { readonly label: string }[] }
