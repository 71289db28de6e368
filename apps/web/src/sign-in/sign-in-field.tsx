type Props = {
  readonly label: string
  readonly value: string
  readonly onWrite: (text: string) => void
  readonly placeholder?: string
  readonly isFirst?: boolean
  readonly isCode?: boolean
  readonly autoComplete?: 'name' | 'off'
  readonly problemId?: string
}

export function SignInField(props: Props) {
  const { label, value, onWrite, placeholder, isFirst = false, isCode = false } = props
  return (
    <label className="flex flex-col gap-1">
      <span className="text-sm text-soft">{label}</span>
      <input
        // biome-ignore lint/a11y/noAutofocus: the field is the purpose of its page
        autoFocus={isFirst}
        value={value}
        placeholder={placeholder}
        maxLength={isCode ? 40 : 100}
        spellCheck={false}
        autoComplete={props.autoComplete ?? 'off'}
        autoCapitalize={isCode ? 'characters' : 'sentences'}
        aria-describedby={props.problemId}
        onChange={(event) => onWrite(event.target.value)}
        className={`field min-h-11 w-full ${isCode ? 'font-mono text-title tracking-wider uppercase placeholder:text-faint' : 'pointer-coarse:text-base'}`}
      />
    </label>
  )
}
