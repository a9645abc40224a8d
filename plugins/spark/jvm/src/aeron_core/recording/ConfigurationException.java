package aeron_core.recording;

/** Wrong option, column or location; its message has one line, with the value and what is allowed. */
public final class ConfigurationException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    public ConfigurationException(String message) {
        super(message);
    }
}
