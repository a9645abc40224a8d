import java.io.InputStream;
import java.lang.reflect.Method;
import javax.xml.parsers.DocumentBuilderFactory;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** A message of each kind of the Archive's schema, encoded by Aeron's own encoders. */
final class ArchiveSamples
{
    private static final String PACKAGE = "io.aeron.archive.codecs.";
    private static final String SCHEMA = "archive/aeron-archive-codecs.xml";
    private static final int HEADER_LENGTH = 8;

    private ArchiveSamples()
    {
    }

    /** Return one line of JSON: a list of messages, each with its name, its fields by name, and its bytes in hex. */
    static String all() throws Exception
    {
        final StringBuilder json = new StringBuilder();
        try (InputStream schema = ArchiveSamples.class.getClassLoader().getResourceAsStream(SCHEMA))
        {
            final Element root = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(schema)
                .getDocumentElement();
            for (Node node = root.getFirstChild(); node != null; node = node.getNextSibling())
            {
                if ("sbe:message".equals(node.getNodeName()))
                {
                    json.append(json.isEmpty() ? "[" : ", ").append(sample((Element)node));
                }
            }
        }
        return json.append("]").toString();
    }

    private static String sample(final Element message) throws Exception
    {
        final String name = message.getAttribute("name");
        final Class<?> type = Class.forName(PACKAGE + name + "Encoder");
        final Class<?> headerType = Class.forName(PACKAGE + "MessageHeaderEncoder");
        final MutableDirectBuffer buffer = new ExpandableArrayBuffer();
        final Object encoder = type.getConstructor().newInstance();
        type.getMethod("wrapAndApplyHeader", MutableDirectBuffer.class, int.class, headerType)
            .invoke(encoder, buffer, 0, headerType.getConstructor().newInstance());
        final StringBuilder fields = new StringBuilder();
        for (Node node = message.getFirstChild(); node != null; node = node.getNextSibling())
        {
            if ("field".equals(node.getNodeName()) || "data".equals(node.getNodeName()))
            {
                final Element field = (Element)node;
                fields.append(fields.isEmpty() ? "" : ", ").append('"').append(field.getAttribute("name"))
                    .append("\": ").append(set(encoder, type, field, Integer.parseInt(message.getAttribute("id"))));
            }
        }
        final byte[] bytes = new byte[HEADER_LENGTH + (int)type.getMethod("encodedLength").invoke(encoder)];
        buffer.getBytes(0, bytes);
        final StringBuilder hex = new StringBuilder();
        for (final byte value : bytes)
        {
            hex.append(String.format("%02x", value));
        }
        return "{\"name\": \"" + name + "\", \"fields\": {" + fields + "}, \"hex\": \"" + hex + "\"}";
    }

    /** Set a field to a value that no other field has, and return the value as JSON. */
    private static String set(final Object encoder, final Class<?> type, final Element field, final int template)
        throws Exception
    {
        final String name = field.getAttribute("name");
        final int id = Integer.parseInt(field.getAttribute("id"));
        switch (field.getAttribute("type"))
        {
            case "varAsciiEncoding":
            {
                final String text = name + "-" + template;
                type.getMethod(name, String.class).invoke(encoder, text);
                return '"' + text + '"';
            }
            case "varDataEncoding":
            {
                final byte[] data = { (byte)template, (byte)id, (byte)0xff, 0 };
                final String method = "put" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
                type.getMethod(method, byte[].class, int.class, int.class).invoke(encoder, data, 0, data.length);
                return "[" + (data[0] & 0xff) + ", " + data[1] + ", 255, 0]";
            }
            case "int64", "time_t":
            {
                final long value = (id % 2 == 0 ? 1L : -1L) * ((1L << 40) * template + id);
                type.getMethod(name, long.class).invoke(encoder, value);
                return Long.toString(value);
            }
            case "int8":
                return "0";
            case "int32", "version_t":
            {
                final int value = (id % 2 == 0 ? 1 : -1) * ((1 << 20) * template + id);
                type.getMethod(name, int.class).invoke(encoder, value);
                return Integer.toString(value);
            }
            default:
            {
                final Class<?> kind = Class.forName(PACKAGE + field.getAttribute("type"));
                final Object value = kind.getEnumConstants()[1];
                type.getMethod(name, kind).invoke(encoder, value);
                final Method number = kind.getMethod("value");
                return number.invoke(value).toString();
            }
        }
    }
}
