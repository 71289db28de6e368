import type { BlockOf } from '@parley/protocol'
import { CircleCheck, CircleSlash, Hand, MessageCircleQuestion } from 'lucide-react'
import { answererText } from '../base/actor-text.logic.ts'
import { visible } from '../base/format.logic.ts'
import { useMay, useSelf } from '../base/self.ts'
import { outcomeText, questionNote } from './answer-text.logic.ts'

/** The outcome of a permission, below its call. Nothing is shown if a mode or a rule allowed the call. */
export function RequestOutcome({ block }: { block: BlockOf<'permission'> }) {
  const { resolution } = block
  const self = useSelf()
  const decides = useMay('decide')
  if (!resolution) {
    return (
      <p className="flex items-center gap-1.5 py-0.5 pl-8 text-xs font-medium text-wait">
        <Hand size={12} aria-hidden /> {decides ? 'Needs your approval' : 'Needs an approval'}
      </p>
    )
  }
  if (resolution.outcome === 'allowed' && resolution.by !== 'person') return null
  const allowed = resolution.outcome === 'allowed'
  return (
    <p className={`flex items-center gap-1.5 pl-8 text-xs ${allowed ? 'text-faint' : 'text-wait'}`}>
      {allowed ? <CircleCheck size={12} aria-hidden /> : <CircleSlash size={12} aria-hidden />}
      {outcomeText(block, resolution, answererText(block.resolvedBy, self))}
    </p>
  )
}

/** A question in the timeline, with its answers. */
export function SettledQuestion({ block }: { block: BlockOf<'question'> }) {
  const { request, resolution } = block
  const self = useSelf()
  const decides = useMay('decide')
  if (!resolution) {
    return (
      <p className="flex min-h-7 items-center gap-2 px-1.5 text-sm font-medium text-wait">
        <MessageCircleQuestion size={14} aria-hidden />
        {request.questions.length === 1 ? 'A question' : `${request.questions.length} questions`}
        {decides ? ' for you' : ''}
      </p>
    )
  }
  const note = questionNote(resolution, answererText(block.resolvedBy, self))
  return (
    <div className="rounded-md border border-line px-3 py-2 text-sm">
      {request.questions.map((question) => (
        <p key={question.id} className="flex items-start gap-2 py-0.5">
          <MessageCircleQuestion size={14} aria-hidden className="mt-1 shrink-0 text-faint" />
          <span className="min-w-0 [overflow-wrap:anywhere]">
            <span className="text-soft">{visible(question.text)}</span>{' '}
            {resolution.answers && (
              <strong className="font-semibold">
                {visible([resolution.answers[question.id] ?? []].flat().join(', '))}
              </strong>
            )}
          </span>
        </p>
      ))}
      {note !== undefined && <p className="pl-6 text-xs text-faint">{note}</p>}
    </div>
  )
}
