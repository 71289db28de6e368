import { useMay } from '../base/self.ts'

type Props = { readonly count: number; readonly isShort?: boolean; readonly testId?: string }

/** The number of open requests. It has a strong colour only for people who may answer them. */
export function WaitingCount({ count, isShort = false, testId }: Props) {
  const decides = useMay('decide')
  if (decides)
    return (
      <span
        data-testid={testId}
        className="ml-auto rounded-full bg-wait-fill px-1.5 text-xs leading-4 font-semibold text-[#2b1c00]"
      >
        {count}
        <span className="sr-only"> waiting for you</span>
      </span>
    )
  return (
    <span data-testid={testId} className="ml-auto text-xs text-faint" title={`${count} waiting for others`}>
      {count}
      <span className={isShort ? 'sr-only' : ''}> waiting for others</span>
    </span>
  )
}
